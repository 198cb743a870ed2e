"""The engine written as one would write it first: object by object, node by node, no columns.

It is the oracle of the property tests and the yardstick of the benchmark. It shares the parser and
the implementations of functions with the engine; paths, conversion, operators, null rules, filters
and aggregations are its own.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.apis.clusterpulse.metric_source import (
    Aggregation,
    AggregationFilter,
    FieldExtraction,
    MetricSourceSpec,
)
from quarterdeck.engine.expressions import tree
from quarterdeck.engine.expressions.functions import FUNCTIONS
from quarterdeck.engine.expressions.parser import parse
from quarterdeck.engine.paths import Every, Index, Key, Length, Path, Where, parse_path
from quarterdeck.kit import duration, rfc3339
from quarterdeck.kit.patterns import compile_re2
from quarterdeck.kit.quantity import Quantity

ABSENT = object()


class NaiveSource:
    """A source that has been read, and nothing more."""

    def __init__(self, spec: MetricSourceSpec, *, now: float, now_text: str) -> None:
        self.spec = spec
        self.now = now
        self.now_text = now_text
        self.paths = [parse_path(field.path) for field in spec.fields]
        self.trees = {each.name: parse(each.expression) for each in spec.computed}
        self.types = {each.name: each.type for each in spec.computed}

    def rows(self, objects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [self.row(each) for each in objects]

    def row(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for field, path in zip(self.spec.fields, self.paths, strict=True):
            values[field.name] = extract(obj, field, path)
        metadata = obj.get("metadata") or {}
        known = {"name": metadata.get("name", ""), "namespace": metadata.get("namespace", "")}
        row = {**known, **values}
        for name in self.trees:
            self.compute(name, row)
        return {
            **values,
            **{each.name: row[each.name] for each in self.spec.computed},
        }

    def compute(self, name: str, row: dict[str, Any]) -> Any:
        if name not in row and name in self.trees:
            for needed in tree.find_names(self.trees[name]):
                self.compute(needed, row)
            row[name] = coerce(self.evaluate(self.trees[name], row), self.types[name])
        return row[name]

    def evaluate(self, node: tree.Expression, row: Mapping[str, Any]) -> Any:
        match node:
            case tree.Literal(value=value):
                return value
            case tree.Name(name=name):
                value = row[name]
                is_whole = isinstance(value, int) and not isinstance(value, bool)
                return float(value) if is_whole else value
            case tree.Unary(operator="!", operand=operand):
                return not is_true(self.evaluate(operand, row))
            case tree.Unary(operand=operand):
                number = to_number(self.evaluate(operand, row))
                return None if number is None else -number
            case tree.Binary(operator=symbol, left=left, right=right):
                return binary(symbol, self.evaluate(left, row), self.evaluate(right, row))
            case tree.Chain(operator="&&", operands=operands):
                return all(is_true(self.evaluate(each, row)) for each in operands)
            case tree.Chain(operator="||", operands=operands):
                return any(is_true(self.evaluate(each, row)) for each in operands)
            case tree.Chain(operands=operands):
                return self.first(operands, row)
            case tree.Condition(test=test, then=then, otherwise=otherwise):
                chosen = then if is_true(self.evaluate(test, row)) else otherwise
                return self.evaluate(chosen, row)
            case tree.Call(function=name, arguments=arguments):
                return self.call(name, arguments, row)

    def first(self, operands: Sequence[tree.Expression], row: Mapping[str, Any]) -> Any:
        for each in operands:
            value = self.evaluate(each, row)
            if value is not None:
                return value
        return None

    def call(self, name: str, arguments: Sequence[tree.Expression], row: Mapping[str, Any]) -> Any:
        if name == "now":
            return self.now_text
        if name == "coalesce":
            return self.first(arguments, row)
        values = [self.evaluate(each, row) for each in arguments]
        if name == "if":
            return values[1] if is_true(values[0]) else values[2]
        function = FUNCTIONS[name]
        given: list[Any] = []
        for index, value in enumerate(values):
            match function.parameter(index):
                case "number":
                    given.append(to_number(value))
                    if given[-1] is None:
                        return None
                case "list":
                    given.append(value)
                    if not isinstance(value, list):
                        return None
                case "text" | "time":
                    given.append(to_text(value))
                case _:
                    given.append(value)
        if name == "min":
            return given[0] if given[0] < given[1] else given[1]
        if name == "max":
            return given[0] if given[0] > given[1] else given[1]
        if name == "age":
            given.append(self.now)
        return function.apply(*given)


def extract(obj: Any, field: FieldExtraction, path: Path) -> Any:
    value = walk(obj, path)
    is_list = any(isinstance(step, Every) for step in path)
    if value is None:
        return None
    if value is ABSENT:
        default = read_default(field)
        is_wrapped = is_list and field.type != "arrayLength" and default is not None
        return [default] if is_wrapped else default
    if is_list and field.type != "arrayLength":
        found = [convert(each, field.type) for each in value]
        return [each for each in found if each is not ABSENT]
    converted = convert(value, field.type)
    return read_default(field) if converted is ABSENT else converted


def read_default(field: FieldExtraction) -> Any:
    if field.default is None:
        return None
    if field.type in ("string", "timestamp"):
        return field.default
    if field.type == "boolean":
        return field.default.lower() == "true"
    kind = "integer" if field.type == "arrayLength" else field.type
    value = convert(field.default, kind)
    return 0 if value is ABSENT else value


def walk(value: Any, path: Path) -> Any:
    for position, step in enumerate(path):
        if isinstance(step, Every):
            if not isinstance(value, list):
                return ABSENT
            found = []
            rest = path[position + 1 :]
            for each in value:
                part = walk(each, rest)
                if part is ABSENT or part is None:
                    continue
                if any(isinstance(later, Every) for later in rest):
                    found.extend(part)
                else:
                    found.append(part)
            return found
        value = take(value, step)
        if value is ABSENT:
            return ABSENT
    return value


def take(value: Any, step: Any) -> Any:
    match step:
        case Key(name=name):
            return value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
        case Length():
            if isinstance(value, list):
                return len(value)
            return value.get("length", ABSENT) if isinstance(value, dict) else ABSENT
        case Index(at=at):
            if isinstance(value, list) and -len(value) <= at < len(value):
                return value[at]
            return ABSENT
        case Where(tests=tests):
            if isinstance(value, list):
                for each in value:
                    if all(holds(walk(each, test.path), test) for test in tests):
                        return each
            return ABSENT
        case _:
            return ABSENT


def holds(value: Any, test: Any) -> bool:
    if not test.operator:
        return value is not ABSENT
    value = None if value is ABSENT else value
    same = bool(value == test.value) and isinstance(value, bool) == isinstance(test.value, bool)
    if test.operator == "==":
        return same
    if test.operator == "!=":
        return not same
    is_number = not isinstance(value, bool) and isinstance(value, int | float)
    comparable = isinstance(value, str) and isinstance(test.value, str)
    if not comparable and not (is_number and isinstance(test.value, float)):
        return False
    less, equal = bool(value < test.value), bool(value == test.value)
    return {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}[
        test.operator
    ]


def convert(value: Any, type_: str) -> Any:
    try:
        return CONVERT[type_](value)
    except (ValueError, TypeError, OverflowError):
        return ABSENT


def refuse() -> Any:
    raise ValueError


def to_integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        refuse()
    if isinstance(value, str) and not value.lstrip("+-").isdecimal():
        refuse()
    number = int(value)
    return number if -(2**63) <= number < 2**63 else refuse()


def to_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        refuse()
    if isinstance(value, str) and (value != value.strip() or "_" in value):
        refuse()
    number = float(value)
    return number if math.isfinite(number) else refuse()


def to_boolean(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() == "true" or value == "1"
    return value != 0 if isinstance(value, bool | int | float) else refuse()


def to_quantity(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        refuse()
    if not isinstance(value, str):
        number = to_float(value)
        is_whole = number.is_integer() and abs(number) < 2**63
        return to_integer(value) if isinstance(value, int) else int(number) if is_whole else number
    text = value[:-1] + "k" if value.endswith("K") else value
    quantity = Quantity.parse(text)
    return quantity.as_int() if quantity.is_integer() else quantity.as_float()


def to_timestamp(value: Any) -> str:
    if not isinstance(value, str):
        refuse()
    if value:
        rfc3339.parse(value)
    return str(value)


def to_length(value: Any) -> int:
    return len(value) if isinstance(value, list | dict) else refuse()


def to_duration(value: Any) -> int:
    return int(duration.parse(to_text(value)) / 10**9) if value != "" else 0


def to_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "[" + " ".join(to_text(each) for each in value) + "]"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{to_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "+Inf" if value > 0 else "-Inf"
        if value == int(value) and abs(value) < 1e21:
            return str(int(value))
        digits = f"{value!r}"
        if "e" not in digits:
            return digits
        from decimal import Decimal

        return format(Decimal(digits), "f")
    return str(value)


CONVERT: dict[str, Any] = {
    "string": to_text,
    "integer": to_integer,
    "float": to_float,
    "boolean": to_boolean,
    "quantity": to_quantity,
    "timestamp": to_timestamp,
    "arrayLength": to_length,
    "duration": to_duration,
}


def is_true(value: Any) -> bool:
    return bool(value)


def to_number(value: Any) -> float | None:
    if isinstance(value, bool | int | float):
        return float(value)
    return None


def binary(symbol: str, left: Any, right: Any) -> Any:
    if symbol == "==":
        return left == right
    if symbol == "!=":
        return left != right
    if symbol in ("<", "<=", ">", ">="):
        return order(symbol, left, right)
    if symbol == "+" and (isinstance(left, str) or isinstance(right, str)):
        return to_text(left) + to_text(right)
    first, second = to_number(left), to_number(right)
    if first is None or second is None:
        return None
    match symbol:
        case "+":
            return first + second
        case "-":
            return first - second
        case "*":
            return first * second
        case "/":
            return first / second if second != 0 else None
        case _:
            if second == 0:
                return None
            return math.fmod(first, second) if math.isfinite(first) else math.nan


def order(symbol: str, left: Any, right: Any) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        left = "" if left is None else left
        right = "" if right is None else right
        if not isinstance(left, str) or not isinstance(right, str):
            return False
    else:
        left = 0.0 if left is None else to_number(left)
        right = 0.0 if right is None else to_number(right)
        if left is None or right is None:
            return False
    match symbol:
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case _:
            return bool(left >= right)


def coerce(value: Any, type_: str) -> Any:
    if value is None:
        return None
    if type_ == "string":
        text = to_text(value)
        return text if len(text) <= 65536 else None
    if type_ == "boolean":
        return is_true(value)
    number = to_number(value)
    if number is None or not math.isfinite(number):
        return None
    if type_ == "float":
        return number
    return int(number) if -(2**63) <= number < 2**63 else None


def aggregate(rows: Sequence[Mapping[str, Any]], spec: Aggregation) -> Any:
    kept = [row for row in rows if spec.filter is None or passes(row, spec.filter)]
    if not spec.group_by:
        return compute(kept, spec)
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in kept:
        key = row[spec.group_by]
        groups.setdefault("_unknown_" if key is None else to_text(key), []).append(row)
    return {key: compute(members, spec) for key, members in groups.items()}


def compute(rows: Sequence[Mapping[str, Any]], spec: Aggregation) -> Any:
    if spec.function == "count":
        return len(rows)
    found = [row[spec.field] for row in rows]
    if spec.function == "distinct":
        values = [to_text(each) if isinstance(each, list) else each for each in found]
        return len({each for each in values if each is not None})
    numbers = [
        each for each in found if isinstance(each, int | float) and not isinstance(each, bool)
    ]
    match spec.function:
        case "sum":
            return sum(numbers)
        case "avg":
            return sum(numbers) / len(numbers) if numbers else None
        case "min":
            return min(numbers, default=None)
        case "max":
            return max(numbers, default=None)
    numbers.sort()
    if not numbers:
        return None
    percent = 50 if spec.function == "median" else spec.percentile or 0
    place = percent / 100 * (len(numbers) - 1)
    low, high = numbers[math.floor(place)], numbers[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def passes(row: Mapping[str, Any], spec: AggregationFilter) -> bool:
    value, wanted = row[spec.field], spec.value
    match spec.operator:
        case "notEquals":
            return not equals(value, wanted)
        case "equals":
            return equals(value, wanted)
        case "in":
            return any(equals(value, each.strip()) for each in wanted.strip("[] ").split(","))
    if value is None:
        return False
    text = to_text(value)
    match spec.operator:
        case "contains":
            return wanted in text
        case "startsWith":
            return text.startswith(wanted)
        case "endsWith":
            return text.endswith(wanted)
        case "matches":
            return compile_re2(wanted).search(text)
    number = convert(value, "float")
    if number is ABSENT:
        return False
    return bool(
        number > float(wanted) if spec.operator == "greaterThan" else number < float(wanted)
    )


def equals(value: Any, wanted: str) -> bool:
    if value is None:
        return False
    if isinstance(value, int | float) and not isinstance(value, bool):
        return bool(value == convert(wanted, "float"))
    return to_text(value) == wanted
