"""What the type parameters of one expression stand for, as far as is known."""

from collections.abc import Sequence
from itertools import repeat

from quarterdeck.cel.checker.declarations import Overload
from quarterdeck.cel.checker.unify import Bindings, assignable, most_general, substitute
from quarterdeck.cel.types import Kind, Type, param


class Inference:
    """Parameters bound so far, and names for fresh ones."""

    __slots__ = ("_bound", "_fresh")

    def __init__(self) -> None:
        self._bound: Bindings = {}
        self._fresh = 0

    def known(self, type_: Type) -> Type:
        """A type with everything filled in that is known by now."""
        return substitute(self._bound, type_) if type_.generic else type_

    def settled(self, type_: Type) -> Type:
        """A type with everything filled in; what is still open can be anything."""
        return substitute(self._bound, type_, final=True) if type_.generic else type_

    def fits(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """Whether every type may stand where another is asked for; if so, learn from it."""
        attempt = dict(self._bound)
        if not all(map(assignable, repeat(attempt), given, wanted)):
            return False
        self._bound = attempt
        return True

    def join(self, left: Type, right: Type) -> Type | None:
        """The type of a collection that holds both, if they go together."""
        if not self.fits((left,), (right,)):
            return None
        return most_general(self.known(left), self.known(right))

    def variable(self) -> Type:
        """A parameter of its own."""
        self._fresh += 1
        return param(f"_var{self._fresh - 1}")

    def instantiate(self, overload: Overload) -> tuple[Sequence[Type], Type]:
        """Parameters and result of a signature, its type parameters made fresh."""
        if not overload.generic:
            return overload.params, overload.result
        fresh: Bindings = {}
        params = [self._renew(part, fresh) for part in overload.params]
        return params, self._renew(overload.result, fresh)

    def _renew(self, type_: Type, fresh: Bindings) -> Type:
        if not type_.generic:
            return type_
        if type_.kind is Kind.PARAM:
            if type_.name not in fresh:
                fresh[type_.name] = self.variable()
            return fresh[type_.name]
        parts = tuple(self._renew(part, fresh) for part in type_.params)
        return Type(type_.kind, type_.name, parts)
