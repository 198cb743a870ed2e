"""The description of a function of the expression language."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

Parameter: TypeAlias = Literal["number", "text", "any", "list", "time", "condition"]
"""How an argument is passed: a null `number` or `list` makes the result null; a null `text` is
empty; `any` is passed unchanged."""


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One function of the language."""

    name: str
    parameters: tuple[Parameter, ...]
    optional: int = 0
    """How many of the parameters, counted from the end, may be left out."""
    repeats: bool = False
    """Whether the last parameter may be given many times."""
    result: int
    """Kinds of the result, apart from the null that null arguments make."""
    apply: Callable[..., Any]
    signature: str
    summary: str
    example: str
    shows: str
    """The result of the example."""
    is_original: bool = True
    """Whether compat mode supports it."""

    @property
    def min_arguments(self) -> int:
        """The least number of arguments."""
        return len(self.parameters) - self.optional

    @property
    def max_arguments(self) -> int | None:
        """The greatest number of arguments; None means any number."""
        return None if self.repeats else len(self.parameters)

    def parameter(self, index: int) -> Parameter:
        """How the argument at an index arrives."""
        return self.parameters[min(index, len(self.parameters) - 1)]


def never_called(*_: Any) -> Any:
    """Stand in for a function that the compiler writes inline, so that it is never called."""
    raise AssertionError("the compiler writes code for this function")
