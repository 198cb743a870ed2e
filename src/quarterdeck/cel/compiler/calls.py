"""Code for functions and operators: one Python operation where the types allow it."""

from collections.abc import Mapping, Sequence

from quarterdeck.cel import library, values
from quarterdeck.cel.compiler import paths, support
from quarterdeck.cel.compiler.emitter import CompileFunction, Emitter, Function
from quarterdeck.cel.compiler.patterns import compile_search
from quarterdeck.cel.library.dispatch import OPERATORS, build_dispatcher
from quarterdeck.cel.operations import arithmetic, containers
from quarterdeck.cel.syntax.ast import Call, Expr, ListExpr, Literal_
from quarterdeck.cel.syntax.shapes import has_python_equality, is_comparable, is_path, is_small
from quarterdeck.cel.types import Kind


def compile_call(emitter: Emitter, node: Call) -> str:
    """The fastest code for a call: special, one Python operation, or a function."""
    if (compile_special := _SPECIAL.get(node.function)) is not None:
        return compile_special(emitter, node)
    if len(node.overloads) == 1 and (code := _compile_inline(emitter, node)) is not None:
        return code
    return _compile_general(emitter, node)


# logic


def _compile_and(emitter: Emitter, node: Call) -> str:
    return f"({emitter.emit_bool(node.args[0])} and {emitter.emit_bool(node.args[1])})"


def _compile_or(emitter: Emitter, node: Call) -> str:
    return f"({emitter.emit_bool(node.args[0])} or {emitter.emit_bool(node.args[1])})"


def _compile_not(emitter: Emitter, node: Call) -> str:
    return f"(not {emitter.emit_bool(node.args[0])})"


def _compile_conditional(emitter: Emitter, node: Call) -> str:
    condition = emitter.emit_bool(node.args[0])
    return f"({emitter.emit(node.args[1])} if {condition} else {emitter.emit(node.args[2])})"


def _compile_optional_or(emitter: Emitter, node: Call) -> str:
    """`or` and `orValue` of an optional; the argument is evaluated only if there is no value."""
    assert node.target is not None
    function = support.choose_optional if node.function == "or" else support.choose_value
    other = emitter.emit(node.args[0])
    return emitter.emit_call(function, emitter.emit(node.target), f"lambda: {other}")


# comparison


def _compile_comparison(emitter: Emitter, node: Call) -> str:
    left, right = node.args
    if not is_comparable(left.type, right.type):
        return _compile_general(emitter, node)
    sides = [emitter.emit(left), emitter.emit(right)]
    kinds = (left.type.kind, right.type.kind)
    if kinds[0] is not kinds[1] and Kind.DOUBLE in kinds:
        sides = [f"float({side})" for side in sides]
    return f"({sides[0]} {node.function.strip('_')} {sides[1]})"


def _compile_equality(emitter: Emitter, node: Call) -> str:
    left, right = node.args
    is_same = left.type.kind is right.type.kind
    if is_same and has_python_equality(left.type) and has_python_equality(right.type):
        return f"({emitter.emit(left)} {node.function.strip('_')} {emitter.emit(right)})"
    return emitter.emit_call(
        OPERATORS[node.function], emitter.emit_whole(left), emitter.emit_whole(right)
    )


def _compile_membership(emitter: Emitter, node: Call) -> str:
    item, container = node.args
    kind = container.type.kind
    if kind is Kind.MAP and item.type.kind in (Kind.STRING, Kind.INT):
        return f"({emitter.emit(item)} in {emitter.emit(container)})"
    if kind is Kind.LIST and has_python_equality(item.type) and not container.type.convert:
        element = container.type.params[0]
        if element.kind is item.type.kind and has_python_equality(element):
            return f"({emitter.emit(item)} in {_compile_constant_set(emitter, container)})"
    return emitter.emit_call(
        containers.is_in, emitter.emit_whole(item), emitter.emit_whole(container)
    )


def _compile_constant_set(emitter: Emitter, node: Expr) -> str:
    """A list of string constants as a frozenset, for a fast `in`; any other node as usual."""
    if not isinstance(node, ListExpr) or node.optional or len(node.elements) < 2:
        return emitter.emit(node)
    constants = [part.value for part in node.elements if isinstance(part, Literal_)]
    texts = [value for value in constants if type(value) is str]
    return (
        emitter.bind(frozenset(texts)) if len(texts) == len(node.elements) else emitter.emit(node)
    )


# functions


def _compile_inline(emitter: Emitter, node: Call) -> str | None:
    """A call as one Python operation; None if there is none that means the same."""
    overload, operands = node.overloads[0], node.operands
    if overload in ("matches_string", "matches"):
        return _compile_matches(emitter, operands)
    if (template := _TEMPLATES.get(overload)) is None:
        return None
    if node.function != "size" and any(part.type.kind is Kind.DYN for part in operands):
        return None  # Python would take more than CEL does: a bool for a number, a list for a text
    code = template.format(*map(emitter.emit, operands))
    check = _CHECKS.get(overload)
    if check is None or (check is arithmetic.check_int and all(map(is_small, operands))):
        return code
    return emitter.emit_call(check, code)


def _compile_matches(emitter: Emitter, operands: Sequence[Expr]) -> str | None:
    text, pattern = operands
    if not isinstance(pattern, Literal_) or not isinstance(pattern.value, str):
        return None
    search = compile_search(pattern.value)
    code = emitter.emit_call(search, emitter.emit(text))
    return code if search.__name__ == "search" else f"({code} is not None)"


def _compile_general(emitter: Emitter, node: Call) -> str:
    """A call of the implementation, chosen now if the type is known, else by value at run time."""
    operands = node.operands
    emit = emitter.emit if node.function == "size" else emitter.emit_whole
    code = emitter.emit_call(
        _find_implementation(node) or build_dispatcher(node.function), *map(emit, operands)
    )
    if node.function == "sum" and node.type.kind is not Kind.INT:
        return emitter.emit_call(support.require_nonzero, code)
    return code


def _find_implementation(node: Call) -> Function | None:
    """The implementation for the type of the first operand; None if that type is not known."""
    if node.function in OPERATORS or not node.operands:
        return None
    first = node.operands[0]
    kind = _CLASSES.get(first.type.kind)
    if kind is None or (first.type.nullable and is_path(first)):
        return None
    return library.get_functions()[node.function].get(kind)


_SPECIAL: Mapping[str, CompileFunction] = {
    "_&&_": _compile_and,
    "_||_": _compile_or,
    "!_": _compile_not,
    "_?_:_": _compile_conditional,
    "or": _compile_optional_or,
    "orValue": _compile_optional_or,
    "_==_": _compile_equality,
    "_!=_": _compile_equality,
    "_<_": _compile_comparison,
    "_<=_": _compile_comparison,
    "_>_": _compile_comparison,
    "_>=_": _compile_comparison,
    "@in": _compile_membership,
    "dyn": lambda emitter, node: emitter.emit_whole(node.args[0]),
    "_[_]": paths.compile_index,
    "_[?_]": paths.compile_index,
    "_?._": paths.compile_index,
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
    "add_int64": arithmetic.check_int,
    "subtract_int64": arithmetic.check_int,
    "multiply_int64": arithmetic.check_int,
    "negate_int64": arithmetic.check_int,
    "divide_int64": arithmetic.divide_int,
    "modulo_int64": arithmetic.modulo_int,
    "multiply_double": arithmetic.multiply_double,
    "divide_double": arithmetic.divide_double,
}
"""Functions that check the result of an overload, such as for an overflow."""
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
