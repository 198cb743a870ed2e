"""Builders: one fluent, statically typed class per kind.

The generated code is plain on purpose: a type checker must see each method and its type, so that a
wrong name or type is an error before anything runs.
"""

import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from quarterdeck import apis
from quarterdeck.codegen.annotations import Names
from quarterdeck.codegen.files import NOTICE, File
from quarterdeck.meta.annotations import find_item_type, unwrap
from quarterdeck.meta.docstrings import describe
from quarterdeck.meta.objects import Object
from quarterdeck.meta.scheme import Scheme

WIDTH = 100
SHARED = frozenset({"labels", "annotations", "finalizers", "owner"})
NO_FLAGS = "# ruff: noqa: FBT001 -- a field of type bool is named by its method"


class Setter(NamedTuple):
    """One `with_…` method."""

    name: str
    path: tuple[str, ...]
    annotation: Any
    text: str


def build_files() -> Iterator[File]:
    """One module of builders per group."""
    for group_version, module in {**apis.OURS, **apis.KUBERNETES}.items():
        kinds = tuple(Scheme(modules={group_version: module}).list_kinds())
        buildable = [kind for kind in kinds if kind.KIND.plural]
        if buildable:
            yield File(_build_path(module), render(buildable))
    yield File(
        "src/quarterdeck/apis/builders/__init__.py",
        f'"""Builders of Kubernetes\' own kinds, one module per group.\n\n{NOTICE}\n"""\n',
    )


def _build_path(module: str) -> str:
    """`apis/<group>/builders.py` for our own groups, `apis/builders/<group>.py` for others."""
    parts = module.split(".")[2:]
    place = f"{parts[0]}/builders" if len(parts) == 2 else f"builders/{parts[0]}"
    return f"src/quarterdeck/apis/{place}.py"


def render(kinds: list[type[Object]]) -> str:
    """The source of a module with the builders of some kinds."""
    names = Names()
    names.add("quarterdeck.meta.builder", "Builder")
    names.add("typing", "Self")
    classes = [render_class(kind, names) for kind in kinds]
    group = kinds[0].KIND.api_version
    has_flags = any(": bool" in text for text in classes)
    head = [f'"""Builders for `{group}`.', "", NOTICE, '"""', ""]
    if has_flags:
        head = [NO_FLAGS, *head]
    return "\n".join([*head, *names.render_imports(), "", "", "\n\n\n".join(classes), ""])


def render_class(kind: type[Object], names: Names) -> str:
    """The source of one builder."""
    name = names.render(kind)
    article = _choose_article(name)
    lines = [
        f"class {name}Builder(Builder[{name}]):",
        f'    """Makes {article} {name} step by step; each step returns a new builder."""',
        "",
        "    __slots__ = ()",
        f"    kind = {name}",
    ]
    if not kind.KIND.is_namespaced:
        lines += [
            "",
            "    def __init__(self, name: str) -> None:",
            "        super().__init__(name)",
        ]
    for setter in list_setters(kind):
        lines += ["", *_render_method(setter, names)]
    return "\n".join(lines)


def _choose_article(name: str) -> str:
    return "an" if name[0] in "AEIOU" else "a"


def list_setters(kind: type[Object]) -> Iterator[Setter]:
    """What can be set: the members of `spec`, and every other member of the object."""
    for field in msgspec.structs.fields(kind):
        if field.name in ("api_version", "kind", "metadata"):
            continue
        base, _ = unwrap(field.type)
        if field.name == "spec" and issubclass(base, msgspec.Struct):
            yield from _list_members(base, ("spec",))
        else:
            yield _build_setter(field, (), describe(kind).fields.get(field.name, ""))


def _list_members(struct: type[msgspec.Struct], path: tuple[str, ...]) -> Iterator[Setter]:
    texts = describe(struct).fields
    for field in msgspec.structs.fields(struct):
        yield _build_setter(field, path, texts.get(field.name, ""))


def _build_setter(field: msgspec.structs.FieldInfo, path: tuple[str, ...], text: str) -> Setter:
    name = field.name.rstrip("_")
    if name in SHARED:
        name = f"{'_'.join(path)}_{name}"
    text = text or f"Set `{'.'.join((*path, field.encode_name))}`."
    return Setter(name, (*path, field.encode_name), field.type, text)


def _render_method(setter: Setter, names: Names) -> list[str]:
    base, _ = unwrap(setter.annotation)
    entry = find_item_type(base)
    parameter = setter.name if setter.name.isidentifier() else f"{setter.name}_"
    star = "*" if entry is not None else ""
    type_ = names.render(entry if entry is not None else base)
    path = ", ".join(f'"{name}"' for name in setter.path)
    path = f"({path},)" if len(setter.path) == 1 else f"({path})"
    return [
        *_render_signature(f"with_{setter.name}", f"{star}{parameter}: {type_}"),
        *_render_docstring(setter.text),
        *_render_return(f"{path}, {parameter}"),
    ]


def _render_return(arguments: str) -> list[str]:
    line = f"        return self._set({arguments})"
    if len(line) <= WIDTH:
        return [line]
    return ["        return self._set(", f"            {arguments}", "        )"]


def _render_signature(name: str, parameter: str) -> list[str]:
    line = f"    def {name}(self, {parameter}) -> Self:"
    if len(line) <= WIDTH:
        return [line]
    return [f"    def {name}(", f"        self, {parameter}", "    ) -> Self:"]


def _render_docstring(text: str) -> list[str]:
    text = text.replace("\\", "\\\\").replace('"""', "'''").replace("\n\n", " ")
    end = '."' if text.endswith('"') else ""
    line = f'        """{text}{end}"""'
    if len(line) <= WIDTH:
        return [line]
    wrapped = textwrap.wrap(
        text, WIDTH - 10, initial_indent='        """', subsequent_indent="        "
    )
    return [*wrapped, '        """']
