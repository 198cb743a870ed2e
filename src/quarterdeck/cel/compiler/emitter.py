"""What every way of emitting code shares: names, scopes, and values that must be whole or bool."""

from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel.compiler import support
from quarterdeck.cel.schema.conversion import converter, leaf, needs_whole
from quarterdeck.cel.syntax.ast import Expr, Literal_
from quarterdeck.cel.syntax.shapes import is_path
from quarterdeck.cel.types import Kind, Type

Function = Callable[..., Any]
Way = Callable[["Emitter", Any], str]
"""How code is made of one kind of node."""

_BUILTINS = {"len": len, "float": float, "enumerate": enumerate}


class NotCompilable(Exception):
    """Raised when an expression is better left to the interpreter."""


class Emitter:
    """The code of one expression while it grows."""

    __slots__ = ("_constants", "_ways", "functions", "namespace", "scopes")

    def __init__(self, ways: Mapping[type[Expr], Way], parameters: tuple[str, ...]) -> None:
        self.namespace: dict[str, Any] = {"__builtins__": _BUILTINS}
        """The objects the code refers to."""
        self.functions: list[str] = []
        """The functions that loops have become, in the order they need each other."""
        self.scopes: list[tuple[str, ...]] = [parameters]
        """Names of variables, innermost last."""
        self._constants: dict[int, str] = {}
        self._ways = ways

    def emit(self, node: Expr) -> str:
        """A Python expression for a value to look into; scalars are converted already."""
        way = self._ways.get(type(node))
        if way is None:
            raise NotCompilable(type(node).__name__)
        return way(self, node)

    def whole(self, node: Expr) -> str:
        """The same for a value to compare, add or hand on, converted through and through."""
        code = self.emit(node)
        if needs_whole(node.type):
            return self.call(converter(node.type), code)
        if node.type.convert == "double" and not isinstance(node, Literal_):
            return f"float({code})"
        return code

    def boolean(self, node: Expr) -> str:
        """The same for a value that must be a bool: checked where nothing proves it."""
        code = self.emit(node)
        if node.type.kind is Kind.BOOL and not (node.type.nullable and is_path(node)):
            return code
        return self.call(support.boolean, code)

    def scalar(self, type_: Type, code: str) -> str:
        """Code that finds stored JSON, with the conversion a scalar of the type needs."""
        convert = leaf(type_)
        if convert is None or type_.convert == "double":
            return code
        return self.call(convert, code)

    def call(self, function: Function, *arguments: str) -> str:
        """A call of a Python function."""
        return f"{self.bind(function)}({', '.join(arguments)})"

    def bind(self, value: Any) -> str:
        """A global name for a Python object the code needs."""
        name = self._constants.get(id(value))
        if name is None:
            name = f"k{len(self._constants)}"
            self._constants[id(value)] = name
            self.namespace[name] = value
        return name

    def visible(self) -> list[str]:
        """Every variable in scope, once."""
        return list(dict.fromkeys(name for scope in self.scopes for name in scope))

    def define(self, parameters: list[str], body: list[str]) -> str:
        """The name of a new function."""
        name = f"f{len(self.functions)}"
        lines = "".join(f"    {line}\n" for line in body)
        self.functions.append(f"def {name}({', '.join(parameters)}):\n{lines}")
        return name
