"""An expression as Python functions: assembles their source and compiles it."""

from collections.abc import Mapping
from types import CodeType
from typing import Any, NamedTuple

from quarterdeck.cel.compiler import calls, literals, loops, paths
from quarterdeck.cel.compiler.emitter import CompileFunction, Emitter, Function, NotCompilable
from quarterdeck.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal_,
    MapExpr,
    OptionalMap,
    Select,
)

_COMPILE_FUNCTIONS: Mapping[type[Expr], CompileFunction] = {
    Literal_: literals.compile_constant,
    Ident: paths.compile_ident,
    Select: paths.compile_select,
    Call: calls.compile_call,
    ListExpr: literals.compile_list,
    MapExpr: literals.compile_map,
    Comprehension: loops.compile_comprehension,
    OptionalMap: loops.compile_optional_map,
}


class Compiled(NamedTuple):
    """An expression as two functions, which take the variables by position or in a mapping."""

    by_position: Function
    by_name: Function


def compile_function(tree: Expr, parameters: tuple[str, ...]) -> Compiled:
    """Functions that compute the expression; they always raise if it cannot be compiled."""
    emitter = Emitter(_COMPILE_FUNCTIONS, parameters)
    try:
        code = _generate_code(emitter, tree, parameters)
    except (NotCompilable, RecursionError, MemoryError, SyntaxError, ValueError):
        return Compiled(_raise_undecided, _raise_undecided)
    namespace = emitter.namespace
    exec(code, namespace)  # nothing of the user's but quoted constants
    return Compiled(namespace["by_position"], namespace["by_name"])


def _generate_code(emitter: Emitter, tree: Expr, parameters: tuple[str, ...]) -> CodeType:
    body = emitter.emit_whole(tree)
    names = ", ".join(f"v_{name}" for name in parameters)
    fetch = "".join(f"    v_{name} = m[{name!r}]\n" for name in parameters)
    emitter.functions.append(f"def by_position({names}):\n    return {body}\n")
    emitter.functions.append(f"def by_name(m):\n{fetch}    return {body}\n")
    return compile("\n".join(emitter.functions), "<cel>", "exec")


def _raise_undecided(*args: Any) -> Any:
    """Used where no code can be generated: raises, so that the interpreter always evaluates."""
    raise NotCompilable
