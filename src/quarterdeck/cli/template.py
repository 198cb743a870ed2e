"""Templates of `--output`: jsonpath and custom-columns, as kubectl has them."""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.server.custom.jsonpath import JsonPathError, compile_path, format_value

Render = Callable[[Any], str]

_PART = re.compile(r"\{([^{}]*)\}")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_ESCAPE = re.compile(r"\\[nt\"\\]")
_ABSENT = "<none>"


def render_jsonpath(template: str, document: object) -> str:
    """Text with `{.path}` replaced by the values found; several are separated by spaces.

    `{range .items[*]}…{end}` repeats the text between them for each value; inside, paths begin
    at that value. Missing members are empty.

    Raises:
        CommandError: for a path or an expression that is not supported, or a range without end.
    """
    if "{" not in template:
        template = f"{{{template}}}"
    parts = deque(_split(template))
    render = _parse_block(parts, in_range=False)
    return render(document)


def _split(template: str) -> Iterator[tuple[bool, str]]:
    """Texts and expressions in order; True for an expression."""
    position = 0
    for part in _PART.finditer(template):
        yield False, _check_text(template[position : part.start()])
        yield True, part[1].strip()
        position = part.end()
    yield False, _check_text(template[position:])


def _check_text(text: str) -> str:
    if "{" in text:
        raise CommandError(f"jsonpath {text!r} has a {{ without }}", REFUSED)
    return text


def _parse_block(parts: deque[tuple[bool, str]], *, in_range: bool) -> Render:
    """A function that renders everything up to the end of the range, or of the template."""
    renders: list[Render] = []
    while parts:
        is_expression, text = parts.popleft()
        word, _, path = text.partition(" ")
        if not is_expression:
            renders.append(_build_text(text))
        elif text == "end":
            if not in_range:
                raise CommandError("jsonpath {end} has no {range} before it", REFUSED)
            return _build_sequence(renders)
        elif word == "range":
            renders.append(_build_range(_compile(path.strip()), _parse_block(parts, in_range=True)))
        else:
            renders.append(_build_expression(text))
    if in_range:
        raise CommandError("jsonpath {range} has no {end} after it", REFUSED)
    return _build_sequence(renders)


def _build_text(text: str) -> Render:
    return lambda document: text


def _build_sequence(renders: list[Render]) -> Render:
    return lambda document: "".join(render(document) for render in renders)


def _build_range(find: Callable[[Any], list[Any]], render: Render) -> Render:
    return lambda document: "".join(render(value) for value in find(document))


def _build_expression(text: str) -> Render:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return _build_text(_ESCAPE.sub(lambda found: _ESCAPES[found[0]], text[1:-1]))
    find = _compile("" if text in ("@", "$") else text)
    return lambda document: " ".join(format_value(value) for value in find(document))


def build_custom_columns(columns: str, documents: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The rows of `NAME:.metadata.name,IMAGE:.spec.image`, head first.

    Raises:
        CommandError: for a column without a path.
    """
    heads, paths = [], []
    for column in columns.split(","):
        head, colon, path = column.partition(":")
        if not (head and colon and path):
            raise CommandError(
                f"invalid column {column!r}: give HEAD:PATH, such as NAME:.metadata.name", REFUSED
            )
        heads.append(head)
        paths.append(_compile(path))
    return [heads, *([_join(find(each)) for find in paths] for each in documents)]


def _join(values: Sequence[object]) -> str:
    return ",".join(format_value(value) for value in values) or _ABSENT


def _compile(path: str) -> Callable[[Any], list[Any]]:
    try:
        return compile_path(path.removeprefix("$").removeprefix("@"))
    except JsonPathError as error:
        raise CommandError(f"invalid path {path!r}: {error}", REFUSED) from error
