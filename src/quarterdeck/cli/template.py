"""Templates of `--output`: jsonpath and custom-columns, as kubectl has them."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.server.custom.jsonpath import JsonPathError, compile_path, show

_PART = re.compile(r"\{([^{}]*)\}")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_ESCAPE = re.compile(r"\\[nt\"\\]")
_ABSENT = "<none>"


def render_jsonpath(template: str, document: object) -> str:
    """Text with `{.path}` replaced by the values found; several are separated by spaces.

    Raises:
        CommandError: for a path or an expression that is not supported.
    """
    if "{" not in template:
        template = f"{{{template}}}"
    text, position = [], 0
    for part in _PART.finditer(template):
        text += [template[position : part.start()], _render_part(part[1].strip(), document)]
        position = part.end()
    return "".join([*text, template[position:]])


def _render_part(expression: str, document: object) -> str:
    if len(expression) > 1 and expression[0] == expression[-1] == '"':
        return _ESCAPE.sub(lambda found: _ESCAPES[found[0]], expression[1:-1])
    if expression.split(" ")[0] in ("range", "end"):
        raise CommandError(
            f"jsonpath {{{expression}}} is not supported: use .items[*] or custom-columns", REFUSED
        )
    return " ".join(show(value) for value in _compile(expression)(document))


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
    return ",".join(show(value) for value in values) or _ABSENT


def _compile(path: str) -> Callable[[Any], list[Any]]:
    try:
        return compile_path(path.removeprefix("$"))
    except JsonPathError as error:
        raise CommandError(f"invalid path {path!r}: {error}", REFUSED) from error
