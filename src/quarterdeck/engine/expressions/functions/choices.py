"""Functions that choose and convert values."""

from quarterdeck.engine.expressions import library
from quarterdeck.engine.expressions.functions.function import Function, never_called
from quarterdeck.engine.values import ANY, NULL, NUMBER, TEXT, to_text

CHOICES = (
    Function(
        name="coalesce",
        parameters=("any",),
        repeats=True,
        result=ANY,
        apply=never_called,
        signature="coalesce(a, b, …)",
        summary="The first argument that is not null.",
        example="coalesce(null, 0, 5)",
        shows="0",
    ),
    Function(
        name="if",
        parameters=("condition", "any", "any"),
        result=ANY,
        apply=never_called,
        signature="if(test, then, otherwise)",
        summary="One of two values; the same as test ? then : otherwise.",
        example="if(2 > 1, 'yes', 'no')",
        shows='"yes"',
        is_original=False,
    ),
    Function(
        name="toString",
        parameters=("any",),
        result=TEXT,
        apply=to_text,
        signature="toString(value)",
        summary="The text form; null is empty.",
        example="toString(1234567.5)",
        shows='"1234567.5"',
    ),
    Function(
        name="toNumber",
        parameters=("any",),
        result=NUMBER | NULL,
        apply=library.parse_value,
        signature="toNumber(value)",
        summary="The text as a number; null if it is not a number.",
        example="toNumber('42')",
        shows="42",
    ),
)
