"""Compiles several comparisons into one Python function.

A selector is tested against every object of a list and every event of a watch, and iterating over
its requirements each time would be most of the cost. One function is compiled for each form of
selector; the keys and values of a user are arguments, never code.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

Test = Callable[[Any], bool]


class Term(msgspec.Struct, frozen=True):
    """One comparison: an expression over `it`, `{key}` and `{value}`, and the values of the two."""

    expression: str
    key: object
    value: object = None


def compile_all(terms: Sequence[Term]) -> Test:
    """Compile one test for all terms, evaluated in order; without terms it is always true."""
    make = _compile_factory(tuple(term.expression for term in terms))
    return make(*(each for term in terms for each in (term.key, term.value)))


@functools.lru_cache(maxsize=512)
def _compile_factory(expressions: tuple[str, ...]) -> Callable[..., Test]:
    """Compile a function that takes the key and value of each term and returns the test."""
    parameters = [f"k{number}, v{number}" for number in range(len(expressions))]
    body = " and ".join(
        f"({each.format(key=f'k{number}', value=f'v{number}')})"
        for number, each in enumerate(expressions)
    )
    source = f"lambda {', '.join(parameters)}: lambda it: {body or 'True'}"
    make: Callable[..., Test] = eval(source, {"__builtins__": {}})
    return make
