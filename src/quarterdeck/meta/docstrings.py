"""Descriptions of types and fields, read from the docstrings in their source.

Only the CRD generator reads them, so other processes do not parse any source.
"""

import ast
import contextlib
import functools
import importlib
import inspect
from typing import NamedTuple

_ATTEMPTS = 9


class Described(NamedTuple):
    """The docstring of a class, and those under its fields by attribute name."""

    text: str
    fields: dict[str, str]


def describe(type_: type) -> Described:
    """The docstrings of a class; fields include those it inherits."""
    own = _read_module(type_.__module__).get(type_.__qualname__, Described("", {}))
    fields: dict[str, str] = {}
    for ancestor in reversed(type_.__mro__[:-1]):
        found = _read_module(ancestor.__module__).get(ancestor.__qualname__)
        if found is not None:
            fields |= found.fields
    return Described(own.text, fields)


@functools.cache
def _read_module(name: str) -> dict[str, Described]:
    try:
        source = inspect.getsource(importlib.import_module(name))
    except (OSError, TypeError, ImportError):
        return {}
    return {
        node.name: _read_class(node)
        for node in _parse(source).body
        if isinstance(node, ast.ClassDef)
    }


def _parse(source: str) -> ast.Module:
    """Parse a module, again if another thread has parsed in between.

    Until 3.11.8 Python counts the depth of syntax trees for all threads together, and then raises
    SystemError for what is right.
    """
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(SystemError):
            return ast.parse(source)
    return ast.parse(source)


def _read_class(node: ast.ClassDef) -> Described:
    fields: dict[str, str] = {}
    for statement, after in zip(node.body, node.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = _read_text(after)
            if text is not None:
                fields[statement.target.id] = text
    return Described(_join(ast.get_docstring(node) or ""), fields)


def _read_text(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return _join(inspect.cleandoc(text))
        case _:
            return None


def _join(text: str) -> str:
    """Join the lines of each paragraph: line breaks of the source are only layout."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).strip()
