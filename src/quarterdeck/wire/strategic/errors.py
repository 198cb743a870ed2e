"""Errors of strategic merge patches."""

from collections.abc import Sequence
from typing import Any

from quarterdeck.meta.field import format_go_value
from quarterdeck.wire import status


class StrategicMergeError(ValueError):
    """Raised when a patch does not fit the object or the kind; `code` is the HTTP status."""

    def __init__(self, message: str, *, code: int = 500) -> None:
        super().__init__(message)
        self.code = code

    def to_api_error(self) -> status.ApiError:
        """Convert to the API error for `code`."""
        match self.code:
            case 400:
                return status.BadRequest(str(self))
            case 422:
                return status.Invalid(str(self))
            case _:
                return status.InternalError(str(self))


class PreconditionFailed(StrategicMergeError):
    """Raised when a patch would change apiVersion, kind or name."""


def build_retain_keys_error() -> StrategicMergeError:
    """Build the error for `$retainKeys` that is invalid or does not list a member of the patch."""
    return StrategicMergeError("invalid patch format of retainKeys", code=400)


def build_element_order_error() -> StrategicMergeError:
    """Build the error for a `$setElementOrder` that is invalid or differs from the other patch."""
    return StrategicMergeError("invalid patch format of setElementOrder list", code=400)


def build_primitive_list_error() -> StrategicMergeError:
    """Build the error for a `$deleteFromPrimitiveList` without the name of a list."""
    return StrategicMergeError("invalid patch format of primitive list", code=400)


def build_nested_list_error() -> StrategicMergeError:
    """Build the error for a list of lists, which cannot be merged."""
    return StrategicMergeError("lists of lists are not supported", code=422)


def build_missing_merge_key_error(item: Any, key: str) -> StrategicMergeError:
    """Build the error for an item without its merge key."""
    shown = format_go_value(item)
    return StrategicMergeError(f"map: {shown} does not contain declared merge key: {key}")


def build_merge_key_type_error(key: Any, item: Any) -> StrategicMergeError:
    """Build the error for a merge key that is an object or a list."""
    shown, place = format_go_value(key), format_go_value(item)
    return StrategicMergeError(
        f"map: {place} has a merge key that is not a scalar: {shown}", code=400
    )


def build_mixed_types_error(*lists: Sequence[Any]) -> StrategicMergeError:
    """Build the error for a merged list with items of several types."""
    shown = format_go_value([list(items) for items in lists])
    return StrategicMergeError(f"list element types are not identical: {shown}")


def build_directive_error(directive: Any, item: Any) -> StrategicMergeError:
    """Build the error for a `$patch` with an unknown value."""
    shown, place = format_go_value(directive), format_go_value(item)
    return StrategicMergeError(f"unknown patch type: {shown} in map: {place}")
