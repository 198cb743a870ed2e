"""Which signatures of a function fit the arguments it is given."""

import functools
from typing import NamedTuple

from quarterdeck.cel.checker.declarations import Overload, get_overloads
from quarterdeck.cel.checker.inference import Inference
from quarterdeck.cel.types import DYN, Kind, Type, is_dyn

_OPEN = frozenset({Kind.PARAM, Kind.DYN, Kind.ERROR, Kind.NULL})
"""Kinds that may be assignable to another kind."""


class Resolution(NamedTuple):
    """The matching overloads, and the result type: dyn if the overloads have different ones."""

    overloads: tuple[str, ...]
    type: Type


def resolve(
    inference: Inference,
    function: str,
    *,
    target: Type | None,
    arguments: list[Type],
    newest: int,
) -> Resolution | None:
    """Find the overloads of a declared function that match; None if none does."""
    given = arguments if target is None else [target, *arguments]
    kinds = tuple([type_.kind for type_ in arguments])
    result: Type | None = None
    matching: list[str] = []
    kind = target.kind if target is not None else None
    for overload in _find_candidates(function, kind, kinds, newest=newest):
        if not overload.generic and all(map(_is_same, given, overload.params)):
            returned = overload.result  # the same types, so there is nothing to learn
        elif overload.is_comparison and _is_same(*given):
            inference.skip_variable()
            returned = overload.result
        else:
            params, returns = inference.instantiate(overload)
            if not inference.unify(given, params):
                continue
            returned = inference.resolve(returns)
        matching.append(overload.id)
        if result is None:
            result = returned
        elif not is_dyn(result) and result != returned:
            result = DYN
    return Resolution(tuple(matching), result) if result is not None else None


def _is_same(left: Type, right: Type) -> bool:
    """Whether two types are one, or have no parameters and the same kind and name."""
    if left is right:
        return not left.generic
    if left.generic or left.params or right.params:
        return False
    return left.kind is right.kind and left.name == right.name


@functools.lru_cache(maxsize=4096)
def _find_candidates(
    function: str, target: Kind | None, arguments: tuple[Kind, ...], *, newest: int
) -> tuple[Overload, ...]:
    """The overloads whose parameter kinds match: mostly one, so that few must be unified."""
    kinds = arguments if target is None else (target, *arguments)
    return tuple(
        overload
        for overload in get_overloads(function, newest)
        if overload.member == (target is not None)
        and len(overload.params) == len(kinds)
        and all(map(_may_fit, kinds, overload.params))
    )


def _may_fit(given: Kind, wanted: Type) -> bool:
    return given is wanted.kind or given in _OPEN or wanted.kind in _OPEN
