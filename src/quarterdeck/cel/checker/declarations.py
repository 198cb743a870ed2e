"""Declarations of the functions that expressions may call, with the types they accept.

They are text, one overload a line, because signatures are easy to read in this form; those of a
function are parsed when the first expression calls it. Overload names are those of cel-go, because
the cost model refers to them.
"""

import functools
import re
from collections.abc import Mapping
from typing import NamedTuple

from quarterdeck.cel import types
from quarterdeck.cel.introduction import EVERYTHING
from quarterdeck.cel.types import Kind, Type

_STANDARD = """
_?_:_ conditional (bool, A, A) A
_&&_ logical_and (bool, bool) bool
_||_ logical_or (bool, bool) bool
!_ logical_not (bool) bool
_==_ equals (A, A) bool
_!=_ not_equals (A, A) bool
_+_ add_bytes (bytes, bytes) bytes
_+_ add_double (double, double) double
_+_ add_duration_duration (duration, duration) duration
_+_ add_duration_timestamp (duration, timestamp) timestamp
_+_ add_timestamp_duration (timestamp, duration) timestamp
_+_ add_int64 (int, int) int
_+_ add_list (list(A), list(A)) list(A)
_+_ add_string (string, string) string
_+_ add_uint64 (uint, uint) uint
_-_ subtract_double (double, double) double
_-_ subtract_duration_duration (duration, duration) duration
_-_ subtract_int64 (int, int) int
_-_ subtract_timestamp_duration (timestamp, duration) timestamp
_-_ subtract_timestamp_timestamp (timestamp, timestamp) duration
_-_ subtract_uint64 (uint, uint) uint
_*_ multiply_double (double, double) double
_*_ multiply_int64 (int, int) int
_*_ multiply_uint64 (uint, uint) uint
_/_ divide_double (double, double) double
_/_ divide_int64 (int, int) int
_/_ divide_uint64 (uint, uint) uint
_%_ modulo_int64 (int, int) int
_%_ modulo_uint64 (uint, uint) uint
-_ negate_double (double) double
-_ negate_int64 (int) int
@in in_list (A, list(A)) bool
@in in_map (A, map(A, B)) bool
_[_] index_list (list(A), int) A
_[_] index_map (map(A, B), A) B
_[_] optional_list_index_int (optional_type(list(A)), int) optional_type(A)
_[_] optional_map_index_value (optional_type(map(A, B)), A) optional_type(B)
_[?_] list_optindex_optional_int (list(A), int) optional_type(A)
_[?_] optional_list_optindex_optional_int (optional_type(list(A)), int) optional_type(A)
_[?_] map_optindex_optional_value (map(A, B), A) optional_type(B)
_[?_] optional_map_optindex_optional_value (optional_type(map(A, B)), A) optional_type(B)
size size_bytes (bytes) int
size bytes_size bytes.() int
size size_list (list(A)) int
size list_size list(A).() int
size size_map (map(A, B)) int
size map_size map(A, B).() int
size size_string (string) int
size string_size string.() int
bool bool_to_bool (bool) bool
bool string_to_bool (string) bool
bytes bytes_to_bytes (bytes) bytes
bytes string_to_bytes (string) bytes
double double_to_double (double) double
double int64_to_double (int) double
double string_to_double (string) double
double uint64_to_double (uint) double
duration duration_to_duration (duration) duration
duration int64_to_duration (int) duration
duration string_to_duration (string) duration
dyn to_dyn (A) dyn
int int64_to_int64 (int) int
int double_to_int64 (double) int
int duration_to_int64 (duration) int
int string_to_int64 (string) int
int timestamp_to_int64 (timestamp) int
int uint64_to_int64 (uint) int
string string_to_string (string) string
string bool_to_string (bool) string
string bytes_to_string (bytes) string
string double_to_string (double) string
string duration_to_string (duration) string
string int64_to_string (int) string
string timestamp_to_string (timestamp) string
string uint64_to_string (uint) string
timestamp timestamp_to_timestamp (timestamp) timestamp
timestamp int64_to_timestamp (int) timestamp
timestamp string_to_timestamp (string) timestamp
type type (A) type(A)
uint uint64_to_uint64 (uint) uint
uint double_to_uint64 (double) uint
uint int64_to_uint64 (int) uint
uint string_to_uint64 (string) uint
contains contains_string string.(string) bool
endsWith ends_with_string string.(string) bool
matches matches_string string.(string) bool
matches matches (string, string) bool
startsWith starts_with_string string.(string) bool
getDate timestamp_to_day_of_month_1_based timestamp.() int
getDate timestamp_to_day_of_month_1_based_with_tz timestamp.(string) int
getDayOfMonth timestamp_to_day_of_month timestamp.() int
getDayOfMonth timestamp_to_day_of_month_with_tz timestamp.(string) int
getDayOfWeek timestamp_to_day_of_week timestamp.() int
getDayOfWeek timestamp_to_day_of_week_with_tz timestamp.(string) int
getDayOfYear timestamp_to_day_of_year timestamp.() int
getDayOfYear timestamp_to_day_of_year_with_tz timestamp.(string) int
getFullYear timestamp_to_year timestamp.() int
getFullYear timestamp_to_year_with_tz timestamp.(string) int
getHours timestamp_to_hours timestamp.() int
getHours timestamp_to_hours_with_tz timestamp.(string) int
getHours duration_to_hours duration.() int
getMilliseconds timestamp_to_milliseconds timestamp.() int
getMilliseconds timestamp_to_milliseconds_with_tz timestamp.(string) int
getMilliseconds duration_to_milliseconds duration.() int
getMinutes timestamp_to_minutes timestamp.() int
getMinutes timestamp_to_minutes_with_tz timestamp.(string) int
getMinutes duration_to_minutes duration.() int
getMonth timestamp_to_month timestamp.() int
getMonth timestamp_to_month_with_tz timestamp.(string) int
getSeconds timestamp_to_seconds timestamp.() int
getSeconds timestamp_to_seconds_tz timestamp.(string) int
getSeconds duration_to_seconds duration.() int
"""

_ORDERED = ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"]
_IDS = {"int": "int64", "uint": "uint64"}
_COMPARISONS = {
    "_<_": "less",
    "_<=_": "less_equals",
    "_>_": "greater",
    "_>=_": "greater_equals",
}


class Overload(NamedTuple):
    """One signature of a function; for a member function the first parameter is the target."""

    id: str
    member: bool
    params: tuple[Type, ...]
    result: Type
    generic: bool
    """Whether the signature has type parameters."""
    is_comparison: bool
    """Whether it takes two values of any type, the same for both: `==` and `!=`."""


def _declare_comparisons() -> str:
    lines = []
    numbers = ("int", "uint", "double")
    for function, word in _COMPARISONS.items():
        lines += [
            f"{function} {word}_{_IDS.get(name, name)} ({name}, {name}) bool" for name in _ORDERED
        ]
        for left in numbers:
            for right in numbers:
                if left != right:
                    pair = f"{_IDS.get(left, left)}_{_IDS.get(right, right)}"
                    lines.append(f"{function} {word}_{pair} ({left}, {right}) bool")
    return "\n".join(lines)


def is_declared(function: str, newest: int = EVERYTHING) -> bool:
    """Whether there is a function of this name, in the release `newest` or before."""
    return function in _group_lines(newest)


def may_be_qualified(function: str, newest: int = EVERYTHING) -> bool:
    """Whether the qualified name of a function ends so, which rules out most calls of members."""
    return function in _list_last_parts(newest)


@functools.cache
def _list_last_parts(newest: int) -> frozenset[str]:
    return frozenset(name.rpartition(".")[2] for name in _group_lines(newest) if "." in name)


@functools.cache
def get_overloads(function: str, newest: int = EVERYTHING) -> tuple[Overload, ...]:
    """The signatures of a declared function."""
    return tuple(map(_parse_overload, _group_lines(newest)[function]))


@functools.cache
def _group_lines(newest: int) -> Mapping[str, list[str]]:
    """The declarations of every function, still text."""
    from quarterdeck.cel import library

    table: dict[str, list[str]] = {}
    for text in (_STANDARD, _declare_comparisons(), *library.get_declarations(newest)):
        for line in filter(None, text.splitlines()):
            table.setdefault(line.partition(" ")[0], []).append(line)
    return table


_LINE = re.compile(r"\S+ (\S+) (?:([^\s.(]+(?:\([^.]*\))?|[\w.]+)\.)?(\(.*\)) (\S.*)")
_NAMES: Mapping[str, Type] = {
    **types.NAMED_TYPES,
    "dyn": types.DYN,
    "null": types.NULL,
    "duration": types.DURATION,
    "timestamp": types.TIMESTAMP,
    "Quantity": types.QUANTITY,
    "URL": types.URL,
    "Semver": types.SEMVER,
    "NamedFormat": types.NAMED_FORMAT,
    "IP": types.IP,
    "CIDR": types.CIDR,
    "Authorizer": types.AUTHORIZER,
    "PathCheck": types.PATH_CHECK,
    "GroupCheck": types.GROUP_CHECK,
    "ResourceCheck": types.RESOURCE_CHECK,
    "Decision": types.DECISION,
}


def _parse_overload(line: str) -> Overload:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"not a declaration: {line!r}")
    overload, target, params, result = found.groups()
    args = [_parse_type(part) for part in _split(params[1:-1])]
    if target is not None:
        args.insert(0, _parse_type(target))
    returned = _parse_type(result)
    generic = any(type_.generic for type_ in [*args, returned])
    is_comparison = [type_.kind for type_ in args] == [Kind.PARAM] * 2 and args[0] == args[1]
    return Overload(
        overload,
        target is not None,
        tuple(args),
        returned,
        generic,
        is_comparison and not returned.generic,
    )


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _parse_type(text: str) -> Type:
    name, opening, rest = text.partition("(")
    if not opening:
        return types.param(name) if len(name) == 1 else _NAMES[name]
    inner = [_parse_type(part) for part in _split(rest[:-1])]
    match name:
        case "list":
            return types.list_of(inner[0])
        case "map":
            return types.map_of(inner[0], inner[1])
        case "type":
            return types.type_of(inner[0])
        case _:
            return types.optional_of(inner[0])
