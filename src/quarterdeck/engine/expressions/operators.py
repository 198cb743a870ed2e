"""The table of operators for the documentation; `parser.LEVELS` has the same operators."""

import msgspec


class Operator(msgspec.Struct, frozen=True):
    """One operator: what it does, what null does to it, and an example that a test evaluates."""

    symbol: str
    summary: str
    null: str
    example: str
    shows: str


CONDITION = Operator(
    "? :",
    "One of two values.",
    "A null test is false.",
    "2 > 1 ? 'yes' : 'no'",
    '"yes"',
)

OPERATORS: tuple[Operator, ...] = (
    Operator("??", "The left value, or the right one if the left is null.", "-", "null ?? 3", "3"),
    Operator("||", "Whether one side is true.", "Null is false.", "false || 1", "true"),
    Operator("&&", "Whether both sides are true.", "Null is false.", "true && ''", "false"),
    Operator(
        "==",
        "Equal. A text never equals a number; true equals 1.",
        "Null equals null only.",
        "'1' == 1",
        "false",
    ),
    Operator("!=", "Not equal.", "Null equals null only.", "null != 0", "true"),
    Operator(
        "<",
        "Less than: numbers by value, texts by character.",
        "Null is 0 beside a number, empty beside a text.",
        "'a' < 'b'",
        "true",
    ),
    Operator("<=", "Less than or equal.", "As for <.", "2 <= 2", "true"),
    Operator(">", "Greater than.", "As for <.", "3 > 2", "true"),
    Operator(">=", "Greater than or equal.", "As for <.", "null >= 1", "false"),
    Operator(
        "+",
        "The sum; if one side is text, both joined as text.",
        "Null makes a sum null, and is empty beside a text.",
        "'a' + 1.5",
        '"a1.5"',
    ),
    Operator("-", "The difference.", "Null makes it null.", "10 - 4 - 3", "3"),
    Operator("*", "The product.", "Null makes it null.", "2 + 3 * 4", "14"),
    Operator(
        "/", "The quotient; null if the divisor is 0.", "Null makes it null.", "1 / 0", "null"
    ),
    Operator(
        "%",
        "The remainder, with the sign of the left side; null if the divisor is 0.",
        "Null makes it null.",
        "-7 % 3",
        "-1",
    ),
)

UNARY: tuple[Operator, ...] = (
    Operator("!", "Not.", "Not null is true.", "!null", "true"),
    Operator("-", "The negative.", "Null stays null.", "2 - -3", "5"),
)
