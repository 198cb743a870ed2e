"""Python types as the source text that names them, with the imports the text needs."""

import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Union

import msgspec

from quarterdeck.meta.annotations import unwrap


class Names:
    """The imports that rendered types need, collected while rendering."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = {}

    def add(self, module: str, name: str) -> str:
        """Note that `name` of `module` is used."""
        self._found.setdefault(module, set()).add(name)
        return name

    def render(self, annotation: Any) -> str:
        """The text of a type, without markers and without `None`."""
        base, _ = unwrap(annotation)
        origin, arguments = typing.get_origin(base), typing.get_args(base)
        if origin is Literal:
            self.add("typing", "Literal")
            return f"Literal[{', '.join(_quote(value) for value in arguments)}]"
        if origin in (Union, types.UnionType):
            return " | ".join(self.render(part) for part in arguments)
        if origin is tuple:
            return f"tuple[{self.render(arguments[0])}, ...]"
        if origin is Mapping:
            self.add("collections.abc", "Mapping")
            return f"Mapping[{self.render(arguments[0])}, {self.render(arguments[1])}]"
        if base is msgspec.Raw:
            return self.add("msgspec", "Raw")
        if base.__module__ == "builtins":
            return str(base.__name__)
        return self.add(base.__module__, base.__qualname__)

    def render_imports(self) -> Iterable[str]:
        """Import statements in the order that the linter requires."""
        standard = {name for name in self._found if name in ("collections.abc", "typing")}
        third_party = {name for name in self._found if name == "msgspec"}
        own = self._found.keys() - standard - third_party
        blocks = [
            "\n".join(_import(module, self._found[module]) for module in sorted(group))
            for group in (standard, third_party, own)
            if group
        ]
        return "\n\n".join(blocks).splitlines()


def _quote(value: object) -> str:
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _import(module: str, names: Iterable[str]) -> str:
    ordered = sorted(names, key=_import_order)
    line = f"from {module} import {', '.join(ordered)}"
    if len(line) <= 100:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in ordered), ")"])


def _import_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as isort has it."""
    group = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return group, name.lower()
