"""Constants that can be judged before anything runs."""

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.time import parse_duration, parse_timestamp
from quarterdeck.kit.patterns import PatternError, compile_re2


def valid(function: str, text: str) -> bool:
    """Whether `duration`, `timestamp` or `matches` could accept this text."""
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
