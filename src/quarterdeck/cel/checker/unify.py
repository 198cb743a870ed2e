"""Assignability of types with type parameters, which the checker tests for every call."""

from quarterdeck.cel.types import DYN, Kind, Type, is_dyn

Bindings = dict[str, Type]
"""The types that type parameters are bound to, by the name of the parameter."""

_NULLABLE = frozenset({Kind.STRUCT, Kind.DURATION, Kind.TIMESTAMP, Kind.OPAQUE, Kind.NULL})


def is_assignable(bound: Bindings, given: Type, wanted: Type) -> bool:
    """Whether `given` is assignable to `wanted`; binds type parameters on success.

    `bound` may have new bindings even when the result is False, so callers pass a copy.
    """
    if given is wanted:
        return True
    if wanted.kind is Kind.PARAM or given.kind is Kind.PARAM:
        return _bind(bound, given, wanted)
    if is_dyn(given) or is_dyn(wanted):
        return True
    if given.kind is Kind.NULL:
        return wanted.kind in _NULLABLE
    if wanted.kind is Kind.NULL:
        return given.kind in _NULLABLE
    if given.kind is not wanted.kind or given.name != wanted.name:
        return False
    if given.kind is Kind.TYPE:
        return True
    if len(given.params) != len(wanted.params):
        return False
    return all(
        is_assignable(bound, left, right)
        for left, right in zip(given.params, wanted.params, strict=True)
    )


def _bind(bound: Bindings, given: Type, wanted: Type) -> bool:
    if given == wanted:
        return True
    if wanted.kind is Kind.PARAM:
        return _bind_one(bound, wanted, given, flipped=False)
    return _bind_one(bound, given, wanted, flipped=True)


def _bind_one(bound: Bindings, parameter: Type, other: Type, *, flipped: bool) -> bool:
    known = bound.get(parameter.name)
    if known is None:
        if _occurs(bound, parameter, other):
            return False
        bound[parameter.name] = other
        return True
    pair = (known, other) if flipped else (other, known)
    if not is_assignable(bound, *pair):
        return False
    bound[parameter.name] = choose_most_general(known, other)
    return True


def _occurs(bound: Bindings, parameter: Type, inside: Type) -> bool:
    if not inside.generic:
        return False
    if inside.kind is Kind.PARAM:
        known = bound.get(inside.name)
        return inside == parameter or (known is not None and _occurs(bound, parameter, known))
    return any(_occurs(bound, parameter, part) for part in inside.params)


def choose_most_general(left: Type, right: Type) -> Type:
    """The more general one of two types that are assignable to each other."""
    if left.kind is Kind.PARAM or is_dyn(left):
        return left if is_dyn(left) else right
    if is_dyn(right):
        return DYN
    if left.kind is Kind.NULL:
        return right
    if left.params and len(left.params) == len(right.params):
        parts = tuple(map(choose_most_general, left.params, right.params))
        return left if parts == left.params else Type(left.kind, left.name, parts)
    return left


def substitute(bound: Bindings, type_: Type, *, final: bool = False) -> Type:
    """A type with its bound parameters replaced; `final` turns free ones into dyn."""
    if not type_.generic:
        return type_
    if type_.kind is Kind.PARAM:
        known = bound.get(type_.name)
        if known is not None:
            return substitute(bound, known, final=final)
        return DYN if final else type_
    parts = tuple(substitute(bound, part, final=final) for part in type_.params)
    if all(new is old for new, old in zip(parts, type_.params, strict=True)):
        return type_
    return Type(type_.kind, type_.name, parts)
