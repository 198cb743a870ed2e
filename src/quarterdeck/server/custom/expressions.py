"""Validation rules of custom resources: CEL rules compiled once, evaluated after the schema."""

from collections.abc import Sequence
from typing import Protocol

from quarterdeck.meta.field import ErrorType, FieldError, invalid

_BLOCKING = frozenset(
    {
        ErrorType.NOT_SUPPORTED,
        ErrorType.REQUIRED,
        ErrorType.TOO_LONG,
        ErrorType.TOO_MANY,
        ErrorType.TYPE_INVALID,
    }
)
_SKIPPED = (
    "some validation rules were not checked because the object was invalid; correct the existing"
    " errors to complete validation"
)


class Expressions(Protocol):
    """The compiled rules of one schema: `cel.RuleSet`."""

    def validate(self, obj: object, old_obj: object = None) -> list[FieldError]:
        """Evaluate the rules on a whole object; `old_obj` is None on create."""
        ...

    def validate_quickly(self, obj: object, old_obj: object = None) -> list[FieldError] | None:
        """Do the same if it takes a few milliseconds at worst, else return None."""
        ...


def explain_skipped(errors: Sequence[FieldError]) -> FieldError | None:
    """Build the error that rules were not evaluated; None if these errors do not prevent it."""
    if any(error.type in _BLOCKING for error in errors):
        return invalid("<nil>", None, _SKIPPED)
    return None
