"""The state that all compile functions share: names, scopes, conversions and bool checks."""

from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel.compiler import support
from quarterdeck.cel.schema.conversion import (
    build_converter,
    find_scalar_converter,
    needs_conversion,
)
from quarterdeck.cel.syntax.ast import Expr, Literal_
from quarterdeck.cel.syntax.shapes import is_path
from quarterdeck.cel.types import Kind, Type

Function = Callable[..., Any]
CompileFunction = Callable[["Emitter", Any], str]
"""Generates the code of one kind of node."""

_BUILTINS = {"len": len, "float": float, "enumerate": enumerate}


class NotCompilable(Exception):
    """Raised when no code can be generated: the interpreter evaluates the expression."""


class Emitter:
    """Generates the code of one expression."""

    __slots__ = ("_by_node_type", "_constants", "functions", "namespace", "scopes")

    def __init__(
        self, by_node_type: Mapping[type[Expr], CompileFunction], parameters: tuple[str, ...]
    ) -> None:
        self.namespace: dict[str, Any] = {"__builtins__": _BUILTINS}
        """The objects the code refers to."""
        self.functions: list[str] = []
        """The source of the functions for loops and bodies, callees before their callers."""
        self.scopes: list[tuple[str, ...]] = [parameters]
        """Names of variables, innermost last."""
        self._constants: dict[int, str] = {}
        self._by_node_type = by_node_type

    def emit(self, node: Expr) -> str:
        """A Python expression for a node; scalars are converted, items of containers are not."""
        function = self._by_node_type.get(type(node))
        if function is None:
            raise NotCompilable(type(node).__name__)
        return function(self, node)

    def emit_whole(self, node: Expr) -> str:
        """The same for a value to compare, add or pass on: containers are converted, too."""
        code = self.emit(node)
        if needs_conversion(node.type):
            return self.emit_call(build_converter(node.type), code)
        if node.type.convert == "double" and not isinstance(node, Literal_):
            return f"float({code})"
        return code

    def emit_bool(self, node: Expr) -> str:
        """The same for a value that must be a bool; it is checked unless its type proves it."""
        code = self.emit(node)
        if node.type.kind is Kind.BOOL and not (node.type.nullable and is_path(node)):
            return code
        return self.emit_call(support.require_bool, code)

    def emit_scalar(self, type_: Type, code: str) -> str:
        """Add the conversion that a scalar of this type needs to code that reads stored JSON."""
        convert = find_scalar_converter(type_)
        if convert is None or type_.convert == "double":
            return code
        return self.emit_call(convert, code)

    def emit_call(self, function: Function, *arguments: str) -> str:
        """A call of a Python function."""
        return f"{self.bind(function)}({', '.join(arguments)})"

    def bind(self, value: Any) -> str:
        """Give a Python object that the code refers to a global name; returns the name."""
        name = self._constants.get(id(value))
        if name is None:
            name = f"k{len(self._constants)}"
            self._constants[id(value)] = name
            self.namespace[name] = value
        return name

    def list_visible(self) -> list[str]:
        """Every variable in scope, once."""
        return list(dict.fromkeys(name for scope in self.scopes for name in scope))

    def define(self, parameters: list[str], body: list[str]) -> str:
        """Add a function; returns its name."""
        name = f"f{len(self.functions)}"
        lines = "".join(f"    {line}\n" for line in body)
        self.functions.append(f"def {name}({', '.join(parameters)}):\n{lines}")
        return name
