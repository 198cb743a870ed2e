"""What can be wrong with a strategic merge patch."""

from collections.abc import Sequence
from typing import Any

from quarterdeck.meta.field import format_go_value
from quarterdeck.wire import status


class StrategicMergeError(ValueError):
    """Raised when a patch does not fit the object or the kind; `code` is the HTTP answer."""

    def __init__(self, message: str, *, code: int = 500) -> None:
        super().__init__(message)
        self.code = code

    def to_api_error(self) -> status.ApiError:
        """The error the API answers with."""
        match self.code:
            case 400:
                return status.BadRequest(str(self))
            case 422:
                return status.Invalid(str(self))
            case _:
                return status.InternalError(str(self))


class PreconditionFailed(StrategicMergeError):
    """Raised when a patch would change what must not change."""


def bad_retain_keys() -> StrategicMergeError:
    """The patch holds members its own `$retainKeys` does not name."""
    return StrategicMergeError("invalid patch format of retainKeys", code=400)


def bad_element_order() -> StrategicMergeError:
    """A `$setElementOrder` is no list, or not the one the other patch has."""
    return StrategicMergeError("invalid patch format of setElementOrder list", code=400)


def bad_primitive_list() -> StrategicMergeError:
    """A `$deleteFromPrimitiveList` names no list."""
    return StrategicMergeError("invalid patch format of primitive list", code=400)


def list_of_lists() -> StrategicMergeError:
    """A merged list may hold objects or scalars."""
    return StrategicMergeError("lists of lists are not supported", code=422)


def no_merge_key(item: Any, key: str) -> StrategicMergeError:
    """An item without the key that tells it from the others."""
    shown = format_go_value(item)
    return StrategicMergeError(f"map: {shown} does not contain declared merge key: {key}")


def bad_merge_key(key: Any, item: Any) -> StrategicMergeError:
    """A key that is an object or a list, by which nothing can be found."""
    shown, place = format_go_value(key), format_go_value(item)
    return StrategicMergeError(
        f"map: {place} has a merge key that is not a scalar: {shown}", code=400
    )


def mixed_types(*lists: Sequence[Any]) -> StrategicMergeError:
    """Items of a merged list are of several types."""
    shown = format_go_value([list(items) for items in lists])
    return StrategicMergeError(f"list element types are not identical: {shown}")


def bad_directive(directive: Any, item: Any) -> StrategicMergeError:
    """A `$patch` that is none of replace, delete, merge."""
    shown, place = format_go_value(directive), format_go_value(item)
    return StrategicMergeError(f"unknown patch type: {shown} in map: {place}")
