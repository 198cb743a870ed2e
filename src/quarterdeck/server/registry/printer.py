"""Formats table cells: ages as kubectl shows them, and the columns that all kinds share.

Ages keep two units at most and lose precision as they grow: `45s`, `3m10s`, `26h`, `400d`, `2y50d`.
"""

from datetime import datetime

from quarterdeck.kit import rfc3339
from quarterdeck.server.registry.resource import Column

NAME_TEXT = (
    "Name must be unique within a namespace. Is required when creating resources, although some"
    " resources may allow a client to request the generation of an appropriate name automatically."
    " Name is primarily intended for creation idempotence and configuration definition. Cannot be"
    " updated. More info:"
    " https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
AGE_TEXT = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It"
    " is not guaranteed to be set in happens-before order across separate operations. Clients may"
    " not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the"
    " system. Read-only. Null for lists. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
NAME = Column(name="Name", format="name", description=NAME_TEXT)
AGE = Column(name="Age", description=AGE_TEXT)

UNKNOWN = "<unknown>"
NONE = "<none>"
INVALID = "<invalid>"

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def format_age(timestamp: object, now: datetime) -> str:
    """Format how long ago a timestamp was; `<unknown>` without one."""
    if not isinstance(timestamp, str) or not timestamp:
        return UNKNOWN
    try:
        then = rfc3339.parse(timestamp)
    except ValueError:
        return INVALID
    return format_duration((now - then).total_seconds())


def format_duration(seconds: float) -> str:
    """Format a duration the way `kubectl get` prints ages."""
    if seconds < -1:
        return INVALID
    whole = max(0, int(seconds))
    minutes, hours, days = whole // _MINUTE, whole // _HOUR, whole // _DAY
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if minutes < 10:
        return _format_two_units(minutes, "m", whole % _MINUTE, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _format_two_units(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _format_two_units(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _format_two_units(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _format_two_units(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def format_creation_age(value: dict[str, object], now: datetime) -> str:
    """Format the age of an object."""
    metadata = value.get("metadata")
    stamp = metadata.get("creationTimestamp") if isinstance(metadata, dict) else None
    return format_age(stamp, now)


def build_column(name: str, type_name: str = "string", *, text: str = "") -> Column:
    """Build a column that is always shown."""
    return Column(name=name, type=type_name, description=text)


def build_wide_column(name: str, *, text: str = "") -> Column:
    """Build a column that is shown on demand (`-o wide`)."""
    return Column(name=name, description=text, priority=1)


def format_first(texts: list[str], limit: int, *, empty: str = "<unset>") -> str:
    """Format the first few of a list, and how many were left out."""
    if not texts:
        return empty
    shown = ",".join(texts[:limit])
    return f"{shown} + {len(texts) - limit} more..." if len(texts) > limit else shown
