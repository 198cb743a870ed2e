"""Reference pages: one per kind of ours, from the same types as the CRDs."""

from collections.abc import Iterable, Iterator

from quarterdeck import apis
from quarterdeck.codegen.files import NOTICE, File
from quarterdeck.kit import json
from quarterdeck.meta import crd
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.meta.schema import Node
from quarterdeck.meta.type_schema import walk

FOLDER = "docs/reference/kinds"


def build_files() -> Iterator[File]:
    """One page per kind, and a page that lists them."""
    kinds = sorted(apis.own_scheme().list_kinds(), key=lambda kind: kind.KIND.gvk)
    for kind in kinds:
        yield File(f"{FOLDER}/{_build_slug(kind.KIND)}.md", render(kind))
    yield File(f"{FOLDER}/README.md", _render_index(kinds))


def _build_slug(info: KindInfo) -> str:
    return f"{info.kind.lower()}-{info.version}"


def _render_index(kinds: list[type[Object]]) -> str:
    rows = [
        f"| [{kind.KIND.kind}]({_build_slug(kind.KIND)}.md) | `{kind.KIND.api_version}` "
        f"| {', '.join(f'`{name}`' for name in kind.KIND.short_names)} "
        f"| {crd.build_schema(kind).description} |"
        for kind in kinds
    ]
    head = ["| kind | apiVersion | short names | what it is |", "| --- | --- | --- | --- |"]
    return "\n".join([f"<!-- {NOTICE} -->", "# Kinds", "", *head, *rows, ""])


def render(kind: type[Object]) -> str:
    """The page of one kind."""
    root = crd.build_schema(kind)
    info = kind.KIND
    parts = [
        f"<!-- {NOTICE} -->",
        f"# {info.kind}",
        "",
        root.description,
        "",
        *_render_facts(info),
        "",
        *_render_fields("Specification", "spec", root),
        *_render_fields("Status", "status", root),
        *_render_rules(root),
        *_render_columns(info),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _render_facts(info: KindInfo) -> list[str]:
    subresources = [name for name, there in _list_subresources(info) if there]
    rows = [
        ("apiVersion", f"`{info.api_version}`"),
        ("resource", f"`{info.gvr.group_resource}`"),
        ("scope", info.scope.value),
        ("short names", _format_codes(info.short_names)),
        ("categories", _format_codes(info.categories)),
        ("subresources", _format_codes(subresources)),
        ("field selectors", _format_codes(path.removeprefix(".") for path in info.selectable)),
    ]
    if info.deprecated:
        rows.append(("deprecated", info.deprecation_warning or "yes"))
    return ["| | |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in rows if text)]


def _list_subresources(info: KindInfo) -> list[tuple[str, bool]]:
    return [("status", info.subresource_status), ("scale", info.scale is not None)]


def _format_codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _render_fields(title: str, member: str, root: Node) -> list[str]:
    node = root.properties.get(member)
    if node is None:
        return []
    rows = [
        f"| `{path}` | {_format_type(entry)} | {_format_limits(entry, is_required=is_required)} "
        f"| {_escape_cell(entry.description)} |"
        for path, entry, is_required in _iterate_fields(node, member)
    ]
    head = ["| field | type | limits | meaning |", "| --- | --- | --- | --- |"]
    return [f"## {title}", "", *head, *rows, ""]


def _iterate_fields(node: Node, prefix: str) -> Iterator[tuple[str, Node, bool]]:
    """Named members at any depth, a list or map by its own name with `[]` or `[*]`."""
    for name, member in node.properties.items():
        path = f"{prefix}.{name}"
        yield path, member, name in node.required
        yield from _iterate_fields(_find_inner(member), path + _format_suffix(member))


def _find_inner(node: Node) -> Node:
    if node.items is not None:
        return node.items
    return node.additional if isinstance(node.additional, Node) else node


def _format_suffix(node: Node) -> str:
    if node.items is not None:
        return "[]"
    return "[*]" if isinstance(node.additional, Node) else ""


def _format_type(node: Node) -> str:
    if node.int_or_string:
        return "integer or string"
    if node.items is not None:
        return f"list of {_format_type(node.items)}"
    if isinstance(node.additional, Node):
        return f"map of {_format_type(node.additional)}"
    return node.type or "any"


_LIMITS = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("min_length", "at least {} characters"),
    ("max_length", "at most {} characters"),
    ("min_items", "at least {} entries"),
    ("max_items", "at most {} entries"),
    ("max_properties", "at most {} entries"),
)


def _format_limits(node: Node, *, is_required: bool = False) -> str:
    texts = ["required"] if is_required else []
    if node.enum is not None:
        texts.append("one of " + ", ".join(f"`{value}`" for value in node.enum))
    texts += [
        text.format(value) if (name, value) != ("min_length", 1) else "not empty"
        for name, text in _LIMITS
        if (value := getattr(node, name)) is not None
    ]
    if node.pattern is not None and not node.int_or_string:
        texts.append(f"matches `{_escape_cell(node.pattern)}`")
    if node.items is not None and (inner := _format_limits(node.items)):
        texts.append(f"each {inner}")
    if node.has_default:
        texts.append(f"default `{json.encode(node.default).decode()}`")
    return "; ".join(texts)


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _render_rules(root: Node) -> list[str]:
    rows = [
        f"| `{path}` | {_escape_cell(rule.message)} |"
        for path, node in walk(root)
        for rule in node.rules
    ]
    if not rows:
        return []
    return ["## Rules", "", "| where | what |", "| --- | --- |", *rows, ""]


_WIDE = "with `-o wide`"


def _render_columns(info: KindInfo) -> list[str]:
    if not info.columns:
        return []
    rows = [
        f"| {column.name} | `{_escape_cell(column.path)}` | {_WIDE if column.priority else ''} |"
        for column in info.columns
    ]
    return ["## Columns", "", "| column | field | |", "| --- | --- | --- |", *rows, ""]
