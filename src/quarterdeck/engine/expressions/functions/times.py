"""Functions of times and durations."""

from quarterdeck.engine.expressions import library
from quarterdeck.engine.expressions.functions.function import Function, never_called
from quarterdeck.engine.values import NULL, NUMBER, TEXT

TIMES = (
    Function(
        name="now",
        parameters=(),
        result=TEXT,
        apply=never_called,
        signature="now()",
        summary="The time of the collection, RFC 3339 in UTC.",
        example="len(now())",
        shows="20",
    ),
    Function(
        name="age",
        parameters=("time",),
        result=NUMBER | NULL,
        apply=library.age,
        signature="age(time)",
        summary="Seconds from the time to the collection; null if the text is not a time.",
        example="age('soon')",
        shows="null",
    ),
    Function(
        name="duration",
        parameters=("text", "text"),
        result=NUMBER | NULL,
        apply=library.between,
        signature="duration(from, to)",
        summary="Seconds between two times; null if one of the texts is not a time.",
        example="duration('2024-01-01T00:00:00Z', '2024-01-01T00:01:00Z')",
        shows="60",
        is_original=False,
    ),
    Function(
        name="parseDuration",
        parameters=("text",),
        result=NUMBER | NULL,
        apply=library.parse_duration,
        signature="parseDuration(text)",
        summary="Seconds of a duration such as 1h30m; null if the text is not a duration.",
        example="parseDuration('1m30s')",
        shows="90",
        is_original=False,
    ),
)
