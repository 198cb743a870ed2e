"""Type inference: the types that the type parameters of one expression are bound to."""

from collections.abc import Sequence
from itertools import repeat

from quarterdeck.cel.checker.declarations import Overload
from quarterdeck.cel.checker.unify import Bindings, choose_most_general, is_assignable, substitute
from quarterdeck.cel.types import Kind, Type, param


class Inference:
    """The type parameters bound so far; also creates new ones."""

    __slots__ = ("_bound", "_fresh")

    def __init__(self) -> None:
        self._bound: Bindings = {}
        self._fresh = 0

    def resolve(self, type_: Type) -> Type:
        """Replace the bound type parameters in a type; the others stay."""
        return substitute(self._bound, type_) if type_.generic else type_

    def resolve_fully(self, type_: Type) -> Type:
        """Replace all type parameters in a type; those that are not bound become dyn."""
        return substitute(self._bound, type_, final=True) if type_.generic else type_

    def unify(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """Whether each given type is assignable to the wanted one; if so, bind type parameters."""
        attempt = dict(self._bound)
        if not all(map(is_assignable, repeat(attempt), given, wanted)):
            return False
        self._bound = attempt
        return True

    def join(self, left: Type, right: Type) -> Type | None:
        """The common type of two elements; None if they are not assignable."""
        if not self.unify((left,), (right,)):
            return None
        return choose_most_general(self.resolve(left), self.resolve(right))

    def create_variable(self) -> Type:
        """Create a type parameter that no other part of the expression has."""
        self._fresh += 1
        return param(f"_var{self._fresh - 1}")

    def skip_variable(self) -> None:
        """Count a type parameter that nothing refers to: messages show the numbers of others."""
        self._fresh += 1

    def instantiate(self, overload: Overload) -> tuple[Sequence[Type], Type]:
        """Parameters and result of a signature, with new type parameters in place of its own."""
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
                fresh[type_.name] = self.create_variable()
            return fresh[type_.name]
        parts = tuple(self._instantiate_type(part, fresh) for part in type_.params)
        return Type(type_.kind, type_.name, parts)
