"""Refuses well-typed expressions with mixed literals or format strings that cannot be filled.

cel-go calls these checks validators of the syntax tree. They need the final types of all nodes, so
they run after the check, if it found no issue.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.template import describe_refusal, find_clauses, parse_clause
from quarterdeck.cel.syntax.ast import Call, Expr, ListExpr, Literal_, MapExpr, children
from quarterdeck.cel.types import Kind, Type, is_optional

Report = Callable[[int, str], object]
"""Notes an issue at a position of the source."""

_INTEGERS = frozenset({Kind.INT, Kind.UINT})
_DOUBLES = frozenset({Kind.DOUBLE, Kind.STRING})
_KINDS: Mapping[str, frozenset[Kind]] = {
    "s": frozenset(Kind) - {Kind.STRUCT, Kind.OPAQUE},
    "d": _INTEGERS,
    "f": _DOUBLES,
    "e": _DOUBLES,
    "b": _INTEGERS | {Kind.BOOL},
    "x": _INTEGERS | {Kind.STRING, Kind.BYTES},
    "X": _INTEGERS | {Kind.STRING, Kind.BYTES},
    "o": _INTEGERS,
}
"""What each clause of a format string can show; strings may spell a double that has no digits."""


def validate(tree: Expr, report: Report) -> None:
    """Report literals with elements of several types, and formats that no argument can fill."""
    todo = [(tree, False)]
    while todo:
        node, is_exempt = todo.pop()
        match node:
            case Call(function="format", target=Expr()):
                is_exempt = True
                _validate_format(node, report)
            case ListExpr() if not is_exempt:
                _validate_list(node, report)
            case MapExpr() if not is_exempt:
                _validate_map(node, report)
        todo += [(child, is_exempt) for child in children(node)]


def _validate_list(node: ListExpr, report: Report) -> None:
    given = [(part.pos, _unwrap(part, optional=at in node.optional))
             for at, part in enumerate(node.elements)]  # fmt: skip
    for pos, message in _find_mismatches(given):
        report(pos, message)
        break


def _validate_map(node: MapExpr, report: Report) -> None:
    keys = [(entry.key.pos, entry.key.type) for entry in node.entries]
    values = [(entry.value.pos, _unwrap(entry.value, optional=entry.optional))
              for entry in node.entries]  # fmt: skip
    for pos, message in (*_find_mismatches(keys), *_find_mismatches(values)):
        report(pos, message)


def _unwrap(node: Expr, *, optional: bool) -> Type:
    """The type of an element in its collection: `?element` is unwrapped."""
    return node.type.params[0] if optional and is_optional(node.type) else node.type


def _find_mismatches(given: list[tuple[int, Type]]) -> Iterator[tuple[int, str]]:
    for pos, type_ in given[1:]:
        if type_ != given[0][1]:
            yield pos, f"expected type '{given[0][1]}' but found '{type_}'"


def _validate_format(node: Call, report: Report) -> None:
    text, values = node.target, node.args[0]
    if not isinstance(text, Literal_) or not isinstance(values, ListExpr):
        return
    arguments, clauses = values.elements, find_clauses(str(text.value))
    for at, (found, argument) in enumerate(zip_longest(clauses, arguments)):
        if found is None:
            expected = f"expected {len(clauses)}, got {len(arguments)}"
            report(node.pos, f"too many arguments supplied to string.format ({expected})")
            return
        try:
            clause = parse_clause(found)
        except EvaluationError as error:
            report(node.pos, str(error))
            return
        if argument is None:
            report(node.pos, f"index {at} out of range")
            return
        if (bad := _find_refused(clause.verb, argument)) is not None:
            report(bad.pos, describe_refusal(clause.verb, bad.type.name))
            return


def _find_refused(verb: str, argument: Expr) -> Expr | None:
    """The argument, or the element of a literal, that a clause cannot format; None if it can."""
    kind = argument.type.kind
    if kind is not Kind.DYN and kind not in _KINDS[verb]:
        return argument
    if verb == "s" and isinstance(argument, ListExpr | MapExpr):
        found = (_find_refused(verb, part) for part in children(argument))
        return next(filter(None, found), None)
    return None
