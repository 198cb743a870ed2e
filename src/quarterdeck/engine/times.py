"""RFC 3339 times to seconds, quickly for the form that Kubernetes writes."""

from datetime import UTC, datetime

from quarterdeck.kit import rfc3339

_USUAL = len("2006-01-02T15:04:05Z")


def parse_time(text: str) -> float | None:
    """Seconds since 1970, or None if the text is not an RFC 3339 time."""
    try:
        if _is_usual(text):
            return datetime.fromisoformat(text).timestamp()
        return rfc3339.parse(text).timestamp()
    except ValueError:
        return None


def _is_usual(text: str) -> bool:
    """Whether the text has exactly the shape of whole seconds in UTC."""
    return (
        len(text) == _USUAL
        and text[19] == "Z"
        and text[10] == "T"
        and text[4] == "-"
        and text[7] == "-"
        and text[13] == ":"
        and text[16] == ":"
        and text.isascii()
    )


def from_seconds(seconds: float) -> str:
    """The time as Kubernetes writes it."""
    return rfc3339.format_time(datetime.fromtimestamp(seconds, UTC))
