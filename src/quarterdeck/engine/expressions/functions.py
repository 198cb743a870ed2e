"""The table of functions: names, parameters, results and what people are told about them.

To add a function, write it in `library` and add one entry here: the checker, the compiler and the
reference page read this table.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from quarterdeck.engine.expressions import library
from quarterdeck.engine.values import ANY, BOOL, LIST, NULL, NUMBER, TEXT, to_text

Parameter: TypeAlias = Literal["number", "text", "any", "list", "time", "condition"]
"""How an argument arrives: a null `number` or `list` makes the result null; a null `text` is empty;
`any` arrives as it is."""


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One function of the language."""

    name: str
    parameters: tuple[Parameter, ...]
    optional: int = 0
    """How many of the parameters, counted from the end, may be left out."""
    repeats: bool = False
    """Whether the last parameter may be given many times."""
    result: int
    """Kinds of the result, apart from the null that null arguments make."""
    apply: Callable[..., Any]
    signature: str
    summary: str
    example: str
    shows: str
    """What the example gives."""
    is_original: bool = True
    """Whether compat mode has it."""

    @property
    def least(self) -> int:
        """How many arguments are needed."""
        return len(self.parameters) - self.optional

    @property
    def most(self) -> int | None:
        """How many arguments are allowed; None is any number."""
        return None if self.repeats else len(self.parameters)

    def parameter(self, index: int) -> Parameter:
        """How the argument at an index arrives."""
        return self.parameters[min(index, len(self.parameters) - 1)]


def _unreachable(*_: Any) -> Any:
    raise AssertionError("the compiler writes code for this function")


def _concat(*texts: str) -> str:
    return "".join(texts)


_TABLE = (
    Function(
        name="concat",
        parameters=("text",),
        repeats=True,
        result=TEXT,
        apply=_concat,
        signature="concat(a, b, …)",
        summary="Text forms of all arguments joined; null is empty.",
        example="concat('ns', '/', 'name', null, 3, true)",
        shows='"ns/name3true"',
    ),
    Function(
        name="lower",
        parameters=("text",),
        result=TEXT,
        apply=str.lower,
        signature="lower(text)",
        summary="The text in lower case.",
        example="lower('ReadWriteOnce')",
        shows='"readwriteonce"',
    ),
    Function(
        name="upper",
        parameters=("text",),
        result=TEXT,
        apply=str.upper,
        signature="upper(text)",
        summary="The text in upper case.",
        example="upper('gi')",
        shows='"GI"',
    ),
    Function(
        name="len",
        parameters=("any",),
        result=NUMBER,
        apply=library.length,
        signature="len(value)",
        summary="Characters of the text form, or elements of a list.",
        example="len('héllo')",
        shows="5",
    ),
    Function(
        name="substr",
        parameters=("text", "number", "number"),
        optional=1,
        result=TEXT,
        apply=library.substr,
        signature="substr(text, start[, length])",
        summary="A part of the text by characters from 0; empty if start lies outside.",
        example="substr('hello', 1, 3)",
        shows='"ell"',
    ),
    Function(
        name="contains",
        parameters=("any", "text"),
        result=BOOL,
        apply=library.contains,
        signature="contains(text or list, part)",
        summary="Whether the text has the part, or the list the element.",
        example="contains('abc', 'b')",
        shows="true",
    ),
    Function(
        name="startsWith",
        parameters=("text", "text"),
        result=BOOL,
        apply=str.startswith,
        signature="startsWith(text, prefix)",
        summary="Whether the text begins with the prefix.",
        example="startsWith('kube-system', 'kube-')",
        shows="true",
    ),
    Function(
        name="endsWith",
        parameters=("text", "text"),
        result=BOOL,
        apply=str.endswith,
        signature="endsWith(text, suffix)",
        summary="Whether the text ends with the suffix.",
        example="endsWith('db-0', '-0')",
        shows="true",
    ),
    Function(
        name="round",
        parameters=("number", "number"),
        optional=1,
        result=NUMBER,
        apply=library.round_to,
        signature="round(number[, decimals])",
        summary="Rounded half away from zero; negative decimals round to tens and hundreds.",
        example="round(2.5)",
        shows="3",
    ),
    Function(
        name="floor",
        parameters=("number",),
        result=NUMBER,
        apply=library.floor,
        signature="floor(number)",
        summary="The next whole number below.",
        example="floor(-1.5)",
        shows="-2",
    ),
    Function(
        name="ceil",
        parameters=("number",),
        result=NUMBER,
        apply=library.ceil,
        signature="ceil(number)",
        summary="The next whole number above.",
        example="ceil(-1.5)",
        shows="-1",
    ),
    Function(
        name="abs",
        parameters=("number",),
        result=NUMBER,
        apply=abs,
        signature="abs(number)",
        summary="The number without its sign.",
        example="abs(-5)",
        shows="5",
    ),
    Function(
        name="min",
        parameters=("number", "number"),
        result=NUMBER,
        apply=_unreachable,
        signature="min(a, b)",
        summary="The smaller number.",
        example="min(3, 2)",
        shows="2",
    ),
    Function(
        name="max",
        parameters=("number", "number"),
        result=NUMBER,
        apply=_unreachable,
        signature="max(a, b)",
        summary="The larger number.",
        example="max(3, 2)",
        shows="3",
    ),
    Function(
        name="coalesce",
        parameters=("any",),
        repeats=True,
        result=ANY,
        apply=_unreachable,
        signature="coalesce(a, b, …)",
        summary="The first argument that is not null.",
        example="coalesce(null, 0, 5)",
        shows="0",
    ),
    Function(
        name="now",
        parameters=(),
        result=TEXT,
        apply=_unreachable,
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
        name="formatBytes",
        parameters=("number",),
        result=TEXT,
        apply=library.format_bytes,
        signature="formatBytes(number)",
        summary="Two decimals and B, Ki, Mi, Gi, Ti or Pi.",
        example="formatBytes(1536)",
        shows='"1.50Ki"',
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
        summary="The number a text stands for; null if it stands for none.",
        example="toNumber('42')",
        shows="42",
    ),
    Function(
        name="if",
        parameters=("condition", "any", "any"),
        result=ANY,
        apply=_unreachable,
        signature="if(test, then, otherwise)",
        summary="One of two values; the same as test ? then : otherwise.",
        example="if(2 > 1, 'yes', 'no')",
        shows='"yes"',
        is_original=False,
    ),
    Function(
        name="percentage",
        parameters=("number", "number"),
        result=NUMBER,
        apply=library.percentage,
        signature="percentage(part, total)",
        summary="part / total * 100; 0 if the total is 0.",
        example="percentage(1, 4)",
        shows="25",
        is_original=False,
    ),
    Function(
        name="clamp",
        parameters=("number", "number", "number"),
        result=NUMBER,
        apply=library.clamp,
        signature="clamp(number, low, high)",
        summary="The number, but not below low nor above high.",
        example="clamp(120, 0, 100)",
        shows="100",
        is_original=False,
    ),
    Function(
        name="matches",
        parameters=("text", "text"),
        result=BOOL | NULL,
        apply=library.matches,
        signature="matches(text, pattern)",
        summary="Whether a regular expression (RE2) matches anywhere in the text.",
        example="matches('web-1', '^web-\\d+$')",
        shows="true",
        is_original=False,
    ),
    Function(
        name="trim",
        parameters=("text",),
        result=TEXT,
        apply=str.strip,
        signature="trim(text)",
        summary="The text without blanks at both ends.",
        example="trim(' a ')",
        shows='"a"',
        is_original=False,
    ),
    Function(
        name="replace",
        parameters=("text", "text", "text"),
        result=TEXT | NULL,
        apply=library.replace,
        signature="replace(text, old, new)",
        summary="The text with every occurrence of old replaced.",
        example="replace('a-b-c', '-', '.')",
        shows='"a.b.c"',
        is_original=False,
    ),
    Function(
        name="split",
        parameters=("text", "text"),
        result=LIST,
        apply=library.split,
        signature="split(text, separator)",
        summary="The list of parts between separators.",
        example="len(split('a,b,c', ','))",
        shows="3",
        is_original=False,
    ),
    Function(
        name="join",
        parameters=("list", "text"),
        result=TEXT,
        apply=library.join,
        signature="join(list, separator)",
        summary="The elements of a list as one text.",
        example="join(split('a,b', ','), '+')",
        shows='"a+b"',
        is_original=False,
    ),
    Function(
        name="sum",
        parameters=("list",),
        result=NUMBER,
        apply=library.total,
        signature="sum(list)",
        summary="The sum of the numbers of a list.",
        example="sum(split('', ','))",
        shows="0",
        is_original=False,
    ),
    Function(
        name="avg",
        parameters=("list",),
        result=NUMBER | NULL,
        apply=library.average,
        signature="avg(list)",
        summary="The mean of the numbers of a list; null without any.",
        example="avg(split('', ','))",
        shows="null",
        is_original=False,
    ),
    Function(
        name="count",
        parameters=("list",),
        result=NUMBER,
        apply=library.count,
        signature="count(list)",
        summary="The number of elements of a list.",
        example="count(split('a,b', ','))",
        shows="2",
        is_original=False,
    ),
    Function(
        name="any",
        parameters=("list",),
        result=BOOL,
        apply=any,
        signature="any(list)",
        summary="Whether an element of a list is true.",
        example="any(split('a', ','))",
        shows="true",
        is_original=False,
    ),
    Function(
        name="all",
        parameters=("list",),
        result=BOOL,
        apply=all,
        signature="all(list)",
        summary="Whether every element of a list is true.",
        example="all(split('a,,b', ','))",
        shows="false",
        is_original=False,
    ),
    Function(
        name="parseQuantity",
        parameters=("text",),
        result=NUMBER | NULL,
        apply=library.parse_quantity,
        signature="parseQuantity(text)",
        summary="Base units of a Kubernetes quantity; null if the text is none.",
        example="parseQuantity('500m')",
        shows="0.5",
        is_original=False,
    ),
    Function(
        name="parseDuration",
        parameters=("text",),
        result=NUMBER | NULL,
        apply=library.parse_duration,
        signature="parseDuration(text)",
        summary="Seconds of a duration such as 1h30m; null if the text is none.",
        example="parseDuration('1m30s')",
        shows="90",
        is_original=False,
    ),
    Function(
        name="duration",
        parameters=("text", "text"),
        result=NUMBER | NULL,
        apply=library.between,
        signature="duration(from, to)",
        summary="Seconds between two times; null if one of them is none.",
        example="duration('2024-01-01T00:00:00Z', '2024-01-01T00:01:00Z')",
        shows="60",
        is_original=False,
    ),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _TABLE}
