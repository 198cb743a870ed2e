"""YAML as Kubernetes reads it: scalars are those of JSON, and keys are unique.

PyYAML by itself makes datetimes of `2026-01-01` and sixty-based numbers of `1:30`, and keeps the
last of two equal keys. Kubernetes does none of that. The only module that imports `yaml`.
"""

import functools
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from quarterdeck.kit.yaml_scalar import resolve

_QUOTED = frozenset("'\"|>")
_TEXT_TAGS = frozenset(("!", "tag:yaml.org,2002:binary"))
MAX_DEPTH = 200
MAX_ALIASED = 400_000
"""Values that aliases may expand a text to; the limit of a long text grows with its length."""
_DEEP_BLOCK = re.compile(rf"^[ \t?:-]{{{MAX_DEPTH}}}", re.MULTILINE)
_PIECE = 4096


class YamlError(ValueError):
    """Raised when a text is not YAML, or not YAML that fits JSON; line and column count from 1."""

    def __init__(self, problem: str, *, line: int = 0, column: int = 0) -> None:
        place = f"line {line}, column {column}: " if line else ""
        super().__init__(f"{place}{problem}")
        self.problem = problem
        self.line = line
        self.column = column


def load(text: str | bytes, *, duplicates: list[str] | None = None) -> Any:
    """Read one document; an empty one is None.

    A duplicate key is an error, unless `duplicates` is given: then the last value is used, and the
    key is added to the list with its line.

    Raises:
        YamlError: if it is not YAML, or there is more than one document.
    """
    documents = list(load_all(text, duplicates=duplicates))
    if len(documents) > 1:
        raise YamlError(f"expected one document, found {len(documents)}")
    return documents[0] if documents else None


def load_all(text: str | bytes, *, duplicates: list[str] | None = None) -> Iterator[Any]:
    """Read every document of a stream; documents with nothing in them are left out."""
    import yaml

    try:
        text = text.decode() if isinstance(text, bytes) else text
        loader = _build_loader_class()(_Pieces(text) if len(text) > _PIECE else text)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise YamlError(str(error).splitlines()[0]) from error
    reader = _Reader(limit=max(MAX_ALIASED, 2 * len(text)), duplicates=duplicates)
    try:
        if _may_be_deep(text):
            _check_depth(text)
        while loader.check_node():
            node = loader.get_node()
            if node is not None and not _is_empty(node):
                yield reader.construct(node, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(
            error.problem or str(error),
            line=mark.line + 1 if mark else 0,
            column=mark.column + 1 if mark else 0,
        ) from error
    except yaml.YAMLError as error:
        raise YamlError(str(error).splitlines()[0]) from error
    except RecursionError as error:
        raise YamlError("nested too deeply") from error
    finally:
        loader.dispose()


def dump(document: object) -> str:
    """Write block style, members in their order, long lines unbroken."""
    import yaml

    return str(
        yaml.dump(
            document,
            Dumper=_build_dumper_class(),
            default_flow_style=False,
            sort_keys=False,
            allow_unicode=True,
            width=2**31,
        )
    )


def dump_all(documents: Iterable[object]) -> str:
    """Write several documents, `---` between them."""
    return "---\n".join(dump(document) for document in documents)


@functools.cache
def _build_loader_class() -> Any:
    import yaml

    return yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader


@functools.cache
def _build_dumper_class() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Indents lists under their key and quotes what Kubernetes would read as something else."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002
            return super().increase_indent(flow, indentless)

        def ignore_aliases(self, data: object) -> bool:
            return True

    def represent_text(dumper: Any, text: str) -> Any:
        style = "|" if "\n" in text and not re.search(r"[ \t]+$", text, re.M) else None
        if style is None and resolve(text) is not text:
            style = "'"
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent_text)
    Dumper.add_multi_representer(str, represent_text)
    return Dumper


def _is_empty(node: Any) -> bool:
    return node.id == "scalar" and node.value == "" and not node.style


def _may_be_deep(text: str) -> bool:
    """Whether the text may be nested so deeply that the C stack of the library overflows.

    A cheap test: each level needs a bracket in flow style, or a column of indent in block style.
    """
    return text.count("[") + text.count("{") > MAX_DEPTH or _DEEP_BLOCK.search(text) is not None


def _check_depth(text: str) -> None:
    """Count levels event by event, which needs no stack.

    Raises:
        YamlError: if the nesting is too deep.
    """
    import yaml

    depth = 0
    for event in yaml.parse(_Pieces(text), Loader=_build_loader_class()):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _build_error(event, f"nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Pieces:
    """A text that the C library reads piece by piece.

    The library holds the GIL until a document is read, except during these calls, so that other
    threads can run between pieces.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self, size: int) -> str:
        """Return the next piece; empty at the end."""
        piece = self._text[self._at : self._at + min(size, _PIECE)]
        self._at += len(piece)
        return piece


class _Reader:
    """Makes values of the nodes of one text, at most `limit` of them."""

    def __init__(self, *, limit: int, duplicates: list[str] | None = None) -> None:
        self._left = limit
        self._duplicates = duplicates

    def construct(self, node: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise _build_error(node, "the text contains excessive aliasing")
        if depth > MAX_DEPTH:
            raise _build_error(node, f"nested deeper than {MAX_DEPTH} levels")
        match node.id:
            case "scalar":
                return _read_scalar(node)
            case "sequence":
                return [self.construct(item, depth + 1) for item in node.value]
            case _:
                return self._construct_mapping(node, depth)

    def _construct_mapping(self, node: Any, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                raise _build_error(key_node, "a key must be a scalar")
            value = self.construct(value_node, depth + 1)
            if key_node.value == "<<" and not key_node.style:
                for part in value if isinstance(value, list) else [value]:
                    if not isinstance(part, dict):
                        raise _build_error(value_node, "<< takes a map, or a list of maps")
                    merged = {**part, **merged}
                continue
            key = _read_key(_read_scalar(key_node), key_node)
            if key in result:
                self._report_duplicate(key_node, f'key "{key}" already set in map')
            result[key] = value
        return {**merged, **result} if merged else result

    def _report_duplicate(self, node: Any, text: str) -> None:
        if self._duplicates is None:
            raise _build_error(node, text)
        self._duplicates.append(f"line {node.start_mark.line + 1}: {text}")


def _read_key(value: Any, node: Any) -> str:
    """Convert a key to a string, as JSON requires: `on:` and `80:` are valid YAML."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(node.value)
        case _:
            return "null"


def _read_scalar(node: Any) -> Any:
    if node.style in _QUOTED or node.tag in _TEXT_TAGS:
        return node.value
    value = resolve(node.value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _build_error(node, f"{node.value} cannot be represented in JSON")
    return value


def _build_error(node: Any, problem: str) -> YamlError:
    mark = node.start_mark
    return YamlError(problem, line=mark.line + 1, column=mark.column + 1)
