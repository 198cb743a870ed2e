"""An expression as Python functions: the text is put together here, compiled and run."""

from collections.abc import Mapping
from types import CodeType
from typing import Any, NamedTuple

from quarterdeck.cel.compiler import calls, literals, loops, paths
from quarterdeck.cel.compiler.emitter import Emitter, Function, NotCompilable, Way
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

_WAYS: Mapping[type[Expr], Way] = {
    Literal_: literals.constant,
    Ident: paths.ident,
    Select: paths.select,
    Call: calls.call,
    ListExpr: literals.list_literal,
    MapExpr: literals.map_literal,
    Comprehension: loops.comprehension,
    OptionalMap: loops.optional_map,
}


class Compiled(NamedTuple):
    """An expression as two functions: of its variables in order, and of a mapping of them."""

    by_position: Function
    by_name: Function


def compile_function(tree: Expr, parameters: tuple[str, ...]) -> Compiled:
    """Functions of the variables that compute the expression, or at least always raise."""
    emitter = Emitter(_WAYS, parameters)
    try:
        code = _code(emitter, tree, parameters)
    except (NotCompilable, RecursionError, MemoryError, SyntaxError, ValueError):
        return Compiled(_undecided, _undecided)
    namespace = emitter.namespace
    exec(code, namespace)  # nothing of the user's but quoted constants
    return Compiled(namespace["by_position"], namespace["by_name"])


def _code(emitter: Emitter, tree: Expr, parameters: tuple[str, ...]) -> CodeType:
    body = emitter.whole(tree)
    names = ", ".join(f"v_{name}" for name in parameters)
    fetch = "".join(f"    v_{name} = m[{name!r}]\n" for name in parameters)
    emitter.functions.append(f"def by_position({names}):\n    return {body}\n")
    emitter.functions.append(f"def by_name(m):\n{fetch}    return {body}\n")
    return compile("\n".join(emitter.functions), "<cel>", "exec")


def _undecided(*args: Any) -> Any:
    """Stands for code that could not be generated: the interpreter always decides."""
    raise NotCompilable
