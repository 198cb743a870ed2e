"""Which signatures of a function fit the arguments it is given."""

import functools
from operator import is_
from typing import NamedTuple

from quarterdeck.cel.checker.declarations import Overload, get_overloads
from quarterdeck.cel.checker.inference import Inference
from quarterdeck.cel.types import DYN, Kind, Type, is_dyn

_OPEN = frozenset({Kind.PARAM, Kind.DYN, Kind.ERROR, Kind.NULL})
"""Kinds that may fit one of another kind."""


class Resolution(NamedTuple):
    """The overloads that fit, and the type of the result: dyn where they do not agree."""

    overloads: tuple[str, ...]
    type: Type


def resolve(
    inference: Inference, function: str, *, target: Type | None, arguments: list[Type]
) -> Resolution | None:
    """Choose among the overloads of a declared function; None if there is nothing to choose."""
    given = arguments if target is None else [target, *arguments]
    kinds = tuple([type_.kind for type_ in arguments])
    result: Type | None = None
    matching: list[str] = []
    for overload in _find_candidates(function, target.kind if target is not None else None, kinds):
        if not overload.generic and all(map(is_, given, overload.params)):
            returned = overload.result  # the very types, so there is nothing to learn
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


@functools.lru_cache(maxsize=4096)
def _find_candidates(
    function: str, target: Kind | None, arguments: tuple[Kind, ...]
) -> tuple[Overload, ...]:
    """Overloads that kinds alone do not rule out: mostly one, where comparing would try many."""
    kinds = arguments if target is None else (target, *arguments)
    return tuple(
        overload
        for overload in get_overloads(function)
        if overload.member == (target is not None)
        and len(overload.params) == len(kinds)
        and all(map(_may_fit, kinds, overload.params))
    )


def _may_fit(given: Kind, wanted: Type) -> bool:
    return given is wanted.kind or given in _OPEN or wanted.kind in _OPEN
