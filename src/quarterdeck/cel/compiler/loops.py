"""Code for macros.

Each comprehension becomes a function with a plain loop, which is the fastest form in Python.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from quarterdeck.cel import values
from quarterdeck.cel.compiler import support
from quarterdeck.cel.compiler.emitter import Emitter, NotCompilable
from quarterdeck.cel.syntax.ast import Comprehension, OptionalMap
from quarterdeck.cel.types import Kind


def compile_comprehension(emitter: Emitter, node: Comprehension) -> str:
    """Define a function for the loop; returns the call of it."""
    range_ = emitter.emit(node.range)
    outer = [f"v_{name}" for name in emitter.list_visible()]
    emitter.scopes.append(tuple(name for name in (node.var, node.var2) if name))
    loop = _LOOPS[node.kind](emitter, node)
    emitter.scopes.pop()
    rounds = [*_build_conversions(emitter, node), loop.each]
    body = [
        *loop.before,
        _build_loop_header(emitter, node),
        *(f"    {line}" for line in rounds),
        loop.after,
    ]
    name = emitter.define(["r", *outer], body)
    return f"{name}({', '.join([range_, *outer])})"


def _build_loop_header(emitter: Emitter, node: Comprehension) -> str:
    """The `for` line: the variables, and what it iterates over."""
    kind = node.range.type.kind
    if node.var2:
        sources = {Kind.MAP: "r.items()", Kind.LIST: "enumerate(r)"}
        source = sources.get(kind) or emitter.emit_call(support.iterate_pairs, "r")
        return f"for v_{node.var}, v_{node.var2} in {source}:"
    is_known = kind in (Kind.LIST, Kind.MAP)
    source = "r" if is_known else emitter.emit_call(support.iterate_elements, "r")
    return f"for v_{node.var} in {source}:"


def _build_conversions(emitter: Emitter, node: Comprehension) -> list[str]:
    """Statements that convert the stored scalar of each iteration into its value."""
    type_ = node.range.type
    if not type_.params or (type_.kind is Kind.MAP and not node.var2):
        return []
    name = f"v_{node.var2 or node.var}"
    code = emitter.emit_scalar(type_.params[-1], name)
    return [f"{name} = {code}"] if code != name else []


class _Loop(NamedTuple):
    """The statements before a loop, inside it and after it."""

    before: tuple[str, ...]
    each: str
    after: str


def _compile_quantifier(emitter: Emitter, node: Comprehension) -> _Loop:
    assert node.condition is not None
    condition = emitter.emit_bool(node.condition)
    if node.kind == "all":
        return _Loop((), f"if not {condition}: return False", "return True")
    return _Loop((), f"if {condition}: return True", "return False")


def _compile_exists_one(emitter: Emitter, node: Comprehension) -> _Loop:
    assert node.condition is not None
    return _Loop(("n = 0",), f"if {emitter.emit_bool(node.condition)}: n += 1", "return n == 1")


def _compile_list(emitter: Emitter, node: Comprehension) -> _Loop:
    value = emitter.emit_whole(node.step) if node.step is not None else f"v_{node.var}"
    each = _build_guarded(emitter, node, f"add({value})")
    return _Loop(("out = []", "add = out.append"), each, "return out")


def _compile_map(emitter: Emitter, node: Comprehension) -> _Loop:
    if node.kind == "transform_map_entry":
        raise NotCompilable("entries that may repeat")
    assert node.step is not None
    each = _build_guarded(emitter, node, f"out[v_{node.var}] = {emitter.emit_whole(node.step)}")
    return _Loop(("out = {}",), each, "return out")


def _build_guarded(emitter: Emitter, node: Comprehension, statement: str) -> str:
    if node.condition is None:
        return statement
    return f"if {emitter.emit_bool(node.condition)}: {statement}"


_LOOPS: Mapping[str, Callable[[Emitter, Comprehension], _Loop]] = {
    "all": _compile_quantifier,
    "exists": _compile_quantifier,
    "exists_one": _compile_exists_one,
    "map": _compile_list,
    "filter": _compile_list,
    "transform_list": _compile_list,
    "transform_map": _compile_map,
    "transform_map_entry": _compile_map,
}


def compile_optional_map(emitter: Emitter, node: OptionalMap) -> str:
    """Define a function for the body; returns code that calls it if the optional has a value."""
    if node.type.convert or node.target.type.convert:
        raise NotCompilable("conversion inside an optional")
    target = emitter.emit(node.target)
    outer = emitter.list_visible()
    emitter.scopes.append((node.var,))
    body = emitter.emit_whole(node.body)
    emitter.scopes.pop()
    params = [f"v_{name}" for name in dict.fromkeys([*outer, node.var])]
    result = body if node.flat else emitter.emit_call(values.make_optional, body)
    name = emitter.define(params, [f"return {result}"])
    passed = [f"v_{name}=v_{name}" for name in outer if name != node.var]
    call = f"{name}({', '.join([f'v_{node.var}=x', *passed])})"
    return emitter.emit_call(support.map_optional, target, f"lambda x: {call}")
