"""Many small comparisons as one Python function, as fast as if it were written by hand.

A selector is tested against every object of a list and every event of a watch, so walking its
requirements anew each time is most of the cost. Functions are made once for each form of selector:
what a user writes goes in as arguments, never as code.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

Test = Callable[[Any], bool]


class Term(msgspec.Struct, frozen=True):
    """One comparison: an expression over `it`, `{key}` and `{value}`, and what those two are."""

    expression: str
    key: object
    value: object = None


def compile_all(terms: Sequence[Term]) -> Test:
    """One test for all terms, asked in their order; without terms it is always true."""
    make = _compile_factory(tuple(term.expression for term in terms))
    return make(*(each for term in terms for each in (term.key, term.value)))


@functools.lru_cache(maxsize=512)
def _compile_factory(expressions: tuple[str, ...]) -> Callable[..., Test]:
    """A function that takes key and value of each term and returns the test."""
    parameters = [f"k{number}, v{number}" for number in range(len(expressions))]
    body = " and ".join(
        f"({each.format(key=f'k{number}', value=f'v{number}')})"
        for number, each in enumerate(expressions)
    )
    source = f"lambda {', '.join(parameters)}: lambda it: {body or 'True'}"
    make: Callable[..., Test] = eval(source, {"__builtins__": {}})
    return make
