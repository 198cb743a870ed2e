"""What the type parameters of one expression stand for, as far as is known."""

from collections.abc import Sequence
from itertools import repeat

from quarterdeck.cel.checker.declarations import Overload
from quarterdeck.cel.checker.unify import Bindings, choose_most_general, is_assignable, substitute
from quarterdeck.cel.types import Kind, Type, param


class Inference:
    """Parameters bound so far, and names for fresh ones."""

    __slots__ = ("_bound", "_fresh")

    def __init__(self) -> None:
        self._bound: Bindings = {}
        self._fresh = 0

    def resolve(self, type_: Type) -> Type:
        """A type with everything filled in that is known by now."""
        return substitute(self._bound, type_) if type_.generic else type_

    def resolve_fully(self, type_: Type) -> Type:
        """A type with everything filled in; what is still open can be anything."""
        return substitute(self._bound, type_, final=True) if type_.generic else type_

    def unify(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """Whether every type may stand where another is asked for; if so, learn from it."""
        attempt = dict(self._bound)
        if not all(map(is_assignable, repeat(attempt), given, wanted)):
            return False
        self._bound = attempt
        return True

    def join(self, left: Type, right: Type) -> Type | None:
        """The type of a collection that holds both, if they go together."""
        if not self.unify((left,), (right,)):
            return None
        return choose_most_general(self.resolve(left), self.resolve(right))

    def new_variable(self) -> Type:
        """A parameter of its own."""
        self._fresh += 1
        return param(f"_var{self._fresh - 1}")

    def instantiate(self, overload: Overload) -> tuple[Sequence[Type], Type]:
        """Parameters and result of a signature, its type parameters made fresh."""
        if not overload.generic:
            return overload.params, overload.result
        fresh: Bindings = {}
        params = [self._instantiate_type(part, fresh) for part in overload.params]
        return params, self._instantiate_type(overload.result, fresh)

    def _instantiate_type(self, type_: Type, fresh: Bindings) -> Type:
        if not type_.generic:
            return type_
        if type_.kind is Kind.PARAM:
            if type_.name not in fresh:
                fresh[type_.name] = self.new_variable()
            return fresh[type_.name]
        parts = tuple(self._instantiate_type(part, fresh) for part in type_.params)
        return Type(type_.kind, type_.name, parts)
