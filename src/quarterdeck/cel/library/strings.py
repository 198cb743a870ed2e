"""cel-go's string extensions, version 2, and `reverse`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.introduction import NEVER
from quarterdeck.cel.library.template import render
from quarterdeck.cel.operations.classes import no_overload_error
from quarterdeck.meta.field import quote
from quarterdeck.meta.release import has_feature

DECLARATIONS = """
charAt string_char_at_int string.(int) string
format string_format string.(list(dyn)) string
indexOf string_index_of_string string.(string) int
indexOf string_index_of_string_int string.(string, int) int
join list_join list(string).() string
join list_join_string list(string).(string) string
lastIndexOf string_last_index_of_string string.(string) int
lastIndexOf string_last_index_of_string_int string.(string, int) int
lowerAscii string_lower_ascii string.() string
upperAscii string_upper_ascii string.() string
replace string_replace_string_string string.(string, string) string
replace string_replace_string_string_int string.(string, string, int) string
split string_split_string string.(string) list(string)
split string_split_string_int string.(string, int) list(string)
strings.quote strings_quote (string) string
substring string_substring_int string.(int) string
substring string_substring_int_int string.(int, int) string
trim string_trim string.() string
"""
LATER = {NEVER: "reverse string_reverse string.() string"}

_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_UPPER = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}


def _require_types(*kinds: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function whose arguments after the first must have exactly these classes."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def apply(first: Any, *rest: Any) -> Any:
            if any(type(part) is not kind for part, kind in zip(rest, kinds, strict=False)):
                raise no_overload_error()
            return function(first, *rest)

        return apply

    return wrap


def _out_of_range_error(position: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {position}")


@_require_types(int)
def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise _out_of_range_error(position)
    return text[position : position + 1]


@_require_types(str, int)
def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range_error(start)
    return text.find(part, start)


@_require_types(str, int)
def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        start = len(text) - 1 if part else len(text)
    if not part:
        return start
    if not text and has_feature("NewerExpressions"):
        return -1
    if start < 0:
        raise _out_of_range_error(start)
    if start >= len(text):
        return -1
    return text.rfind(part, 0, start + len(part))


@_require_types(str)
def _join(parts: Sequence[Any], separator: str = "") -> str:
    if parts and type(parts[0]) is not str:
        raise no_overload_error()
    for part in parts:
        if type(part) is not str:
            shown = str(part).lower() if type(part) is bool else part
            raise EvaluationError(f"join: invalid input: {shown}")
    return separator.join(parts)


@_require_types(str, str, int)
def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, max(limit, -1))


@_require_types(str, int)
def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


@_require_types(int, int)
def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for position in (start, end):
        if position is not None and not 0 <= position <= len(text):
            raise _out_of_range_error(position)
    return text[start:end]


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "charAt": {str: _char_at},
    "format": {str: render},
    "indexOf": {str: _index_of},
    "join": {list: _join},
    "lastIndexOf": {str: _last_index_of},
    "lowerAscii": {str: lambda text: text.translate(_LOWER)},
    "upperAscii": {str: lambda text: text.translate(_UPPER)},
    "replace": {str: _replace},
    "reverse": {str: lambda text: text[::-1]},
    "split": {str: _split},
    "strings.quote": {str: quote},
    "substring": {str: _substring},
    "trim": {str: lambda text: text.strip()},
}
