"""Code for constants, lists and maps."""

from quarterdeck.cel.compiler.emitter import Emitter, NotCompilable
from quarterdeck.cel.syntax.ast import ListExpr, Literal_, MapExpr
from quarterdeck.cel.types import Kind


def compile_constant(emitter: Emitter, node: Literal_) -> str:
    """A constant as a Python literal, or as a bound name if Python has no literal for it."""
    value = node.value
    if type(value) in (bool, str, bytes, type(None)):
        return repr(value)
    if type(value) is int:
        return repr(value) if value >= 0 else f"({value!r})"
    return emitter.bind(value)


def compile_list(emitter: Emitter, node: ListExpr) -> str:
    """A list display."""
    if node.optional:
        raise NotCompilable("optional elements")
    return f"[{', '.join(emitter.emit_whole(part) for part in node.elements)}]"


def compile_map(emitter: Emitter, node: MapExpr) -> str:
    """A dict display; compiled only if all keys are distinct constants."""
    kinds = {entry.key.type.kind for entry in node.entries}
    keys = [entry.key.value for entry in node.entries if isinstance(entry.key, Literal_)]
    if any(entry.optional for entry in node.entries) or not kinds <= {Kind.STRING, Kind.INT}:
        raise NotCompilable("optional or unusual keys")
    if len(set(keys)) < len(node.entries):
        raise NotCompilable("keys that may repeat")
    pairs = (
        f"{emitter.emit_whole(entry.key)}: {emitter.emit_whole(entry.value)}"
        for entry in node.entries
    )
    return f"{{{', '.join(pairs)}}}"
