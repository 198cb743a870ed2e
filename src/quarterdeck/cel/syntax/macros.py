"""Macros, which are written as calls: `has`, comprehensions, `optMap`.

A macro is recognized by its name, its number of arguments, and whether it has a target, before
functions are resolved. So a function of the same name with other arguments can still be called.
"""

from quarterdeck.cel.introduction import NEVER
from quarterdeck.cel.syntax.ast import (
    Call,
    Comprehension,
    ComprehensionKind,
    Expr,
    Ident,
    OptionalMap,
    Select,
)

_ACCUMULATORS = frozenset({"__result__", "@result"})


class MacroError(Exception):
    """Raised when the arguments of a macro are invalid."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos
        self.message = message


def expand(call: Call, newest: int) -> Expr:
    """The node of a macro of the release `newest` or before; any other call is returned as it is.

    Raises:
        MacroError: if the arguments of the macro are invalid.
    """
    if call.target is None:
        return _expand_has(call) if call.function == "has" and len(call.args) == 1 else call
    key = (call.function, len(call.args))
    if _INTRODUCED.get(key, 0) > newest:
        return call
    if key in _QUANTIFIERS:
        return _expand_quantifier(call, call.target, _QUANTIFIERS[key])
    if key in _TRANSFORMS:
        return _expand_transform(call, call.target)
    if key == ("sortBy", 2):
        return _expand_sort_by(call, call.target)
    if key in (("optMap", 2), ("optFlatMap", 2)):
        return _expand_optional_map(call, call.target)
    return call


def _expand_has(call: Call) -> Expr:
    argument = call.args[0]
    if not isinstance(argument, Select) or argument.test:
        raise MacroError(argument.pos, "invalid argument to has() macro")
    return Select(call.pos, argument.operand, argument.field, argument.field, test=True)


_QUANTIFIERS: dict[tuple[str, int], tuple[ComprehensionKind, int]] = {
    ("all", 2): ("all", 1),
    ("exists", 2): ("exists", 1),
    ("exists_one", 2): ("exists_one", 1),
    ("existsOne", 2): ("exists_one", 1),
    ("all", 3): ("all", 2),
    ("exists", 3): ("exists", 2),
    ("existsOne", 3): ("exists_one", 2),
    ("exists_one", 3): ("exists_one", 2),
}
_TRANSFORMS: dict[tuple[str, int], tuple[ComprehensionKind, int]] = {
    ("map", 2): ("map", 1),
    ("map", 3): ("map", 1),
    ("filter", 2): ("filter", 1),
    ("transformList", 3): ("transform_list", 2),
    ("transformList", 4): ("transform_list", 2),
    ("transformMap", 3): ("transform_map", 2),
    ("transformMap", 4): ("transform_map", 2),
    ("transformMapEntry", 3): ("transform_map_entry", 2),
    ("transformMapEntry", 4): ("transform_map_entry", 2),
}

_INTRODUCED: dict[tuple[str, int], int] = {
    **dict.fromkeys((key for key, (_, count) in _QUANTIFIERS.items() if count == 2), 32),
    **dict.fromkeys((key for key, (_, count) in _TRANSFORMS.items() if count == 2), 32),
    ("existsOne", 2): NEVER,
    ("sortBy", 2): 34,
}
"""The releases that introduced macros which not every release has."""


def _read_variables(call: Call, count: int, message: str) -> tuple[str, str]:
    names: list[str] = []
    for argument in call.args[:count]:
        if not isinstance(argument, Ident) or argument.absolute:
            raise MacroError(argument.pos, message)
        if argument.name in _ACCUMULATORS:
            raise MacroError(argument.pos, "iteration variable overwrites accumulator variable")
        if argument.name in names:
            raise MacroError(argument.pos, f"duplicate variable name: {argument.name}")
        names.append(argument.name)
    return names[0], names[1] if count == 2 else ""


def _expand_quantifier(call: Call, target: Expr, what: tuple[ComprehensionKind, int]) -> Expr:
    kind, count = what
    var, var2 = _read_variables(call, count, "argument must be a simple name")
    return Comprehension(
        call.pos, kind=kind, range=target, var=var, var2=var2, condition=call.args[-1], step=None
    )


def _expand_transform(call: Call, target: Expr) -> Expr:
    kind, count = _TRANSFORMS[call.function, len(call.args)]
    message = "argument is not an identifier" if count == 1 else "argument must be a simple name"
    var, var2 = _read_variables(call, count, message)
    rest = call.args[count:]
    condition: Expr | None = rest[0] if kind == "filter" or len(rest) == 2 else None
    step: Expr | None = None if kind == "filter" else rest[-1]
    return Comprehension(
        call.pos, kind=kind, range=target, var=var, var2=var2, condition=condition, step=step
    )


def _expand_optional_map(call: Call, target: Expr) -> Expr:
    name = call.args[0]
    if not isinstance(name, Ident):
        raise MacroError(name.pos, f"{call.function}() variable name must be a simple identifier")
    flat = call.function == "optFlatMap"
    return OptionalMap(call.pos, target=target, var=name.name, body=call.args[1], flat=flat)


def _expand_sort_by(call: Call, target: Expr) -> Expr:
    """Expand `sortBy` to a function of the list and of its keys, which a `map` computes."""
    var, _ = _read_variables(call, 1, "argument is not an identifier")
    keys = Comprehension(
        call.pos, kind="map", range=target, var=var, var2="", condition=None, step=call.args[1]
    )
    return Call(call.pos, "@sortByAssociatedKeys", [keys], target)
