"""The seam between custom resources and `cel`: rules compiled once, asked after the schema.

Kubernetes asks the rules only of objects whose shape is right; otherwise it says so.
"""

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
        """What the rules say against a whole object; `old_obj` is none on create."""


def explain_skipped(errors: Sequence[FieldError]) -> FieldError | None:
    """The note that rules were not asked, if these errors keep them from being asked."""
    if any(error.type in _BLOCKING for error in errors):
        return invalid("<nil>", None, _SKIPPED)
    return None
