"""Checks of constant arguments at compile time."""

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.time import parse_duration, parse_timestamp
from quarterdeck.kit.patterns import PatternError, compile_re2


def is_valid(function: str, value: object) -> bool:
    """Whether `duration`, `timestamp` or `matches` could accept this constant."""
    if type(value) is int and function == "timestamp":
        return -62135596800 <= value <= 253402300799
    return not isinstance(value, str) or _is_valid_text(function, value)


def find_regex_problem(pattern: str) -> str:
    """The error of a pattern in the words of Go's regexp; empty if the pattern is valid."""
    try:
        compile_re2(pattern)
    except PatternError as error:
        return str(error)
    return ""


def _is_valid_text(function: str, text: str) -> bool:
    try:
        match function:
            case "duration":
                parse_duration(text)
            case "timestamp":
                parse_timestamp(text)
            case _:
                compile_re2(text)
    except (EvaluationError, PatternError):
        return False
    return True
