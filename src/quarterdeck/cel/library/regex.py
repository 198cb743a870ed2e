"""`find` and `findAll`, with RE2."""

from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.operations.classes import no_overload_error
from quarterdeck.kit.patterns import Pattern, PatternError, compile_re2

DECLARATIONS = """
find string_find_string string.(string) string
findAll string_find_all_string string.(string) list(string)
findAll string_find_all_string_int string.(string, int) list(string)
"""


def _compile(pattern: Any) -> Pattern:
    if type(pattern) is not str:
        raise no_overload_error()
    try:
        return compile_re2(pattern)
    except PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _compile(pattern).find(text)
    return text[found[0] : found[1]] if found is not None else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    if type(limit) is not int:
        raise no_overload_error()
    found = [text[start:end] for start, end in _compile(pattern).find_all(text)]
    return found if limit < 0 else found[:limit]


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "find": {str: _find},
    "findAll": {str: _find_all},
}
