"""Code that reads the data: names, fields, indexes."""

from quarterdeck.cel.compiler import support
from quarterdeck.cel.compiler.emitter import Emitter, Function, NotCompilable
from quarterdeck.cel.library.dispatch import OPERATORS
from quarterdeck.cel.operations import containers
from quarterdeck.cel.syntax.ast import Call, Ident, Literal_, Select
from quarterdeck.cel.types import Kind, is_optional


def compile_ident(emitter: Emitter, node: Ident) -> str:
    """A variable; variables of loops are converted by the code of the loop."""
    if node.type_value is not None:
        return emitter.bind(node.type_value)
    name = f"v_{node.name}"
    is_outside = len(emitter.scopes) == 1
    return emitter.emit_scalar(node.type, name) if is_outside else name


def compile_select(emitter: Emitter, node: Select) -> str:
    """The value of a field, or `has(operand.field)`."""
    if node.ident is not None:
        return emitter.bind(node.ident.type_value)
    operand, name = emitter.emit(node.operand), repr(node.member)
    match node.operand.type.kind:
        case Kind.STRUCT if node.test:
            return f"({operand}.get({name}) is not None)"
        case Kind.STRUCT if node.type.nullable:
            found = emitter.emit_call(support.require_present, f"{operand}[{name}]")
            return emitter.emit_scalar(node.type, found)
        case Kind.MAP if node.test:
            return f"({name} in {operand})"
        case Kind.STRUCT | Kind.MAP:
            return emitter.emit_scalar(node.type, f"{operand}[{name}]")
    if node.type.convert:
        raise NotCompilable("conversion inside an optional")
    return emitter.emit_call(containers.has if node.test else containers.select, operand, name)


def compile_index(emitter: Emitter, node: Call) -> str:
    """`container[key]`, `container[?key]` and `operand.?field`."""
    container, key = node.args
    code = emitter.emit(container)
    if node.function == "_[_]" and (place := _compile_plain_index(emitter, node)) is not None:
        return emitter.emit_scalar(node.type, f"{code}[{place}]")
    if container.type.convert or node.type.convert:
        raise NotCompilable("conversion inside an optional")
    inner = container.type.params[0] if is_optional(container.type) else container.type
    function: Function = OPERATORS[node.function]
    if node.function == "_?._" and inner.kind is Kind.STRUCT:
        function = support.select_optional_member
    return emitter.emit_call(function, code, emitter.emit(key))


def _compile_plain_index(emitter: Emitter, node: Call) -> str | None:
    """The index for a Python subscript; None where CEL's subscript has another meaning."""
    container, key = node.args
    match container.type.kind, key.type.kind:
        case Kind.MAP, Kind.STRING:
            return emitter.emit(key)
        case Kind.LIST, Kind.INT:
            if isinstance(key, Literal_) and type(key.value) is int and key.value >= 0:
                return str(key.value)
            return emitter.emit_call(support.require_position, emitter.emit(key))
    return None
