"""Code for functions and operators: one Python operation where the types allow it."""

from collections.abc import Mapping, Sequence

from quarterdeck.cel import library, values
from quarterdeck.cel.compiler import paths, support
from quarterdeck.cel.compiler.emitter import Emitter, Function, Way
from quarterdeck.cel.compiler.patterns import searcher
from quarterdeck.cel.library.dispatch import OPERATORS, dispatcher
from quarterdeck.cel.operations import arithmetic, containers
from quarterdeck.cel.syntax.ast import Call, Expr, ListExpr, Literal_
from quarterdeck.cel.syntax.shapes import comparable, directly_equal, is_path, is_small
from quarterdeck.cel.types import Kind


def call(emitter: Emitter, node: Call) -> str:
    """The shortest code that means the call."""
    if (way := _WAYS.get(node.function)) is not None:
        return way(emitter, node)
    if len(node.overloads) == 1 and (code := _inline(emitter, node)) is not None:
        return code
    return _general(emitter, node)


# logic


def _and(emitter: Emitter, node: Call) -> str:
    return f"({emitter.boolean(node.args[0])} and {emitter.boolean(node.args[1])})"


def _or(emitter: Emitter, node: Call) -> str:
    return f"({emitter.boolean(node.args[0])} or {emitter.boolean(node.args[1])})"


def _not(emitter: Emitter, node: Call) -> str:
    return f"(not {emitter.boolean(node.args[0])})"


def _conditional(emitter: Emitter, node: Call) -> str:
    condition = emitter.boolean(node.args[0])
    return f"({emitter.emit(node.args[1])} if {condition} else {emitter.emit(node.args[2])})"


def _fallback(emitter: Emitter, node: Call) -> str:
    """`or` and `orValue` of an optional, whose argument may not be evaluated."""
    assert node.target is not None
    function = support.or_ if node.function == "or" else support.or_value
    other = emitter.emit(node.args[0])
    return emitter.call(function, emitter.emit(node.target), f"lambda: {other}")


# comparison


def _order(emitter: Emitter, node: Call) -> str:
    left, right = node.args
    if not comparable(left.type, right.type):
        return _general(emitter, node)
    sides = [emitter.emit(left), emitter.emit(right)]
    kinds = (left.type.kind, right.type.kind)
    if kinds[0] is not kinds[1] and Kind.DOUBLE in kinds:
        sides = [f"float({side})" for side in sides]
    return f"({sides[0]} {node.function.strip('_')} {sides[1]})"


def _equality(emitter: Emitter, node: Call) -> str:
    left, right = node.args
    is_same = left.type.kind is right.type.kind
    if is_same and directly_equal(left.type) and directly_equal(right.type):
        return f"({emitter.emit(left)} {node.function.strip('_')} {emitter.emit(right)})"
    return emitter.call(OPERATORS[node.function], emitter.whole(left), emitter.whole(right))


def _membership(emitter: Emitter, node: Call) -> str:
    item, container = node.args
    kind = container.type.kind
    if kind is Kind.MAP and item.type.kind in (Kind.STRING, Kind.INT):
        return f"({emitter.emit(item)} in {emitter.emit(container)})"
    if kind is Kind.LIST and directly_equal(item.type) and not container.type.convert:
        element = container.type.params[0]
        if element.kind is item.type.kind and directly_equal(element):
            return f"({emitter.emit(item)} in {_constant_set(emitter, container)})"
    return emitter.call(containers.is_in, emitter.whole(item), emitter.whole(container))


def _constant_set(emitter: Emitter, node: Expr) -> str:
    """A literal list of texts as a set."""
    if not isinstance(node, ListExpr) or node.optional or len(node.elements) < 2:
        return emitter.emit(node)
    constants = [part.value for part in node.elements if isinstance(part, Literal_)]
    texts = [value for value in constants if type(value) is str]
    return (
        emitter.bind(frozenset(texts)) if len(texts) == len(node.elements) else emitter.emit(node)
    )


# functions


def _inline(emitter: Emitter, node: Call) -> str | None:
    """Calls that are one Python operation."""
    overload, operands = node.overloads[0], node.operands
    if overload in ("matches_string", "matches"):
        return _matches(emitter, operands)
    if (template := _TEMPLATES.get(overload)) is None:
        return None
    code = template.format(*map(emitter.emit, operands))
    check = _CHECKS.get(overload)
    if check is None or (check is arithmetic.checked_int and all(map(is_small, operands))):
        return code
    return emitter.call(check, code)


def _matches(emitter: Emitter, operands: Sequence[Expr]) -> str | None:
    text, pattern = operands
    if not isinstance(pattern, Literal_) or not isinstance(pattern.value, str):
        return None
    search = searcher(pattern.value)
    code = emitter.call(search, emitter.emit(text))
    return code if search.__name__ == "search" else f"({code} is not None)"


def _general(emitter: Emitter, node: Call) -> str:
    """Any function: picked now if the type is known, else by value."""
    operands = node.operands
    emit = emitter.emit if node.function == "size" else emitter.whole
    code = emitter.call(_implementation(node) or dispatcher(node.function), *map(emit, operands))
    if node.function == "sum" and node.type.kind is not Kind.INT:
        return emitter.call(support.nonzero, code)
    return code


def _implementation(node: Call) -> Function | None:
    """The one implementation it can be, if the type of the first operand tells."""
    if node.function in OPERATORS or not node.operands:
        return None
    first = node.operands[0]
    kind = _CLASSES.get(first.type.kind)
    if kind is None or (first.type.nullable and is_path(first)):
        return None
    return library.functions()[node.function].get(kind)


_WAYS: Mapping[str, Way] = {
    "_&&_": _and,
    "_||_": _or,
    "!_": _not,
    "_?_:_": _conditional,
    "or": _fallback,
    "orValue": _fallback,
    "_==_": _equality,
    "_!=_": _equality,
    "_<_": _order,
    "_<=_": _order,
    "_>_": _order,
    "_>=_": _order,
    "@in": _membership,
    "dyn": lambda emitter, node: emitter.whole(node.args[0]),
    "_[_]": paths.index,
    "_[?_]": paths.index,
    "_?._": paths.index,
}
_TEMPLATES: Mapping[str, str] = {
    "add_int64": "({0} + {1})",
    "subtract_int64": "({0} - {1})",
    "multiply_int64": "({0} * {1})",
    "negate_int64": "(-{0})",
    "divide_int64": "{0}, {1}",
    "modulo_int64": "{0}, {1}",
    "add_double": "({0} + {1})",
    "subtract_double": "({0} - {1})",
    "multiply_double": "{0}, {1}",
    "divide_double": "{0}, {1}",
    "negate_double": "(-{0})",
    "add_string": "({0} + {1})",
    "contains_string": "({1} in {0})",
    "starts_with_string": "{0}.startswith({1})",
    "ends_with_string": "{0}.endswith({1})",
    **{
        overload: "len({0})"
        for kind in ("string", "list", "map", "bytes")
        for overload in (f"size_{kind}", f"{kind}_size")
    },
}
"""Python code of an overload, given the code of its operands."""
_CHECKS: Mapping[str, Function] = {
    "add_int64": arithmetic.checked_int,
    "subtract_int64": arithmetic.checked_int,
    "multiply_int64": arithmetic.checked_int,
    "negate_int64": arithmetic.checked_int,
    "divide_int64": arithmetic.divide_int,
    "modulo_int64": arithmetic.modulo_int,
    "multiply_double": arithmetic.multiply_double,
    "divide_double": arithmetic.divide_double,
}
"""What the code of an overload is passed through, so that it never yields a wrong number."""
_CLASSES: Mapping[Kind, type] = {
    Kind.BOOL: bool,
    Kind.INT: int,
    Kind.UINT: values.UInt,
    Kind.DOUBLE: float,
    Kind.STRING: str,
    Kind.BYTES: bytes,
    Kind.LIST: list,
    Kind.MAP: dict,
    Kind.DURATION: values.Duration,
    Kind.TIMESTAMP: values.Timestamp,
}
