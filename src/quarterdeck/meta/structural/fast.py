"""Compiles a schema into a fast test for valid objects.

Every scalar of a valid object is tested here, so the usual leaf (a type and nothing else) costs a
comparison, not a call. A value that fails is checked again by `explain`; a property test compares
both.
"""

from collections.abc import Callable, Iterator
from typing import Any

from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural import scalars

Predicate = Callable[[Any], bool]
Leaf = tuple[type | None, Predicate | None]
"""A type whose values are all valid, and the test for other values; None if all are valid."""


def compile_predicate(node: Node) -> Predicate:
    """Compile a function that is true for exactly the values that the schema allows."""
    return compile_leaf(node)[1] or _accept_all


def compile_leaf(node: Node) -> Leaf:
    """Compile the test of one node, and the type that needs no test."""
    if (bounded := scalars.compile_bounded_integer(node)) is not None:
        return None, bounded
    tests = [*_compile_value(node)]
    enum = _compile_enum(node)
    tests += [test for test in (enum, _compile_combinators(node)) if test]
    kind = None if tests or node.int_or_string else _PLAIN.get(node.type)
    is_typed = scalars.checks_type(node) or (node.type == "string" and lists_strings(node))
    return kind, _with_null(node, None if is_typed else _compile_type(node), tests)


_PLAIN: dict[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


def _with_null(node: Node, typed: Predicate | None, tests: list[Predicate]) -> Predicate | None:
    """Combine tests; whether null is valid depends on type and enumeration only."""
    null_allowed = scalars.allows_null(node)
    checks = ([typed] if typed else []) + tests
    if len(checks) == 1 and not null_allowed and node.type in _REFUSES_NULL:
        return checks[0]
    match checks:
        case []:
            return None if null_allowed else _is_present
        case [only]:
            return lambda value: only(value) if value is not None else null_allowed
        case [first, second]:
            return lambda value: (
                (first(value) and second(value)) if value is not None else null_allowed
            )
        case _:
            return lambda value: (
                all(check(value) for check in checks) if value is not None else null_allowed
            )


_REFUSES_NULL = frozenset({"object", "array", "string", "integer", "number", "boolean"})
"""Types whose own test already refuses null."""


def _compile_type(node: Node) -> Predicate | None:
    if node.int_or_string:
        return lambda value: type(value) in (int, str) or scalars.is_whole(value)
    match node.type:
        case "string":
            return lambda value: type(value) is str
        case "boolean":
            return lambda value: type(value) is bool
        case "integer":
            return scalars.is_whole
        case "number":
            return lambda value: type(value) in (int, float)
        case _:
            return None


def _compile_value(node: Node) -> Iterator[Predicate]:
    """Compile the tests that depend on the type; those of objects and arrays include the type."""
    if node.type == "object" or (not node.type and _constrains_members(node)):
        yield _compile_object(node)
    if node.type == "array" or (not node.type and _constrains_items(node)):
        yield _compile_array(node)
    if (
        node.type not in ("object", "array")
        and (test := scalars.compile_scalar_predicate(node)) is not None
    ):
        yield test


def _constrains_members(node: Node) -> bool:
    return bool(
        node.properties
        or node.required
        or node.additional is not None
        or node.min_properties
        or node.max_properties is not None
    )


def _constrains_items(node: Node) -> bool:
    return bool(
        node.items is not None or node.min_items or node.max_items is not None or node.unique_items
    )


def _compile_object(node: Node) -> Predicate:
    """Compile the test of an object: members by their type if that is enough, else by a test."""
    leaves = {key: compile_leaf(child) for key, child in node.properties.items()}
    kind_of = {key: kind for key, (kind, _) in leaves.items()}.get
    test_of: Callable[[str, Predicate | None], Predicate | None] = {
        key: test for key, (_, test) in leaves.items()
    }.get
    required = frozenset(node.required)
    other_kind, other_test = _compile_other_members(node)
    must_be_object = node.type == "object"

    def test(value: Any) -> bool:
        if type(value) is not dict:
            return not must_be_object
        for key, member in value.items():
            if kind_of(key, other_kind) is not type(member):
                check = test_of(key, other_test)
                if check is not None and not check(member):
                    return False
        return required <= value.keys()

    return (
        _with_size_limits(test, node)
        if node.min_properties or node.max_properties is not None
        else test
    )


def _with_size_limits(test: Predicate, node: Node) -> Predicate:
    low, high = node.min_properties or 0, node.max_properties

    def sized(value: Any) -> bool:
        if type(value) is not dict:
            return test(value)
        return low <= len(value) and (high is None or len(value) <= high) and test(value)

    return sized


def _accept_all(value: Any) -> bool:
    return True


def _is_present(value: Any) -> bool:
    return value is not None


def _reject_all(value: Any) -> bool:
    return False


def _compile_other_members(node: Node) -> Leaf:
    if isinstance(node.additional, Node):
        return compile_leaf(node.additional)
    return None, _reject_all if node.additional is False else None


def _compile_array(node: Node) -> Predicate:
    low, high = node.min_items or 0, node.max_items
    kind, check = compile_leaf(node.items) if node.items is not None else (None, None)
    must_be_array, unique = node.type == "array", node.unique_items

    def test(value: Any) -> bool:
        if type(value) is not list:
            return not must_be_array
        if check is not None:
            for member in value:
                if type(member) is not kind and not check(member):
                    return False
        if len(value) < low or (high is not None and len(value) > high):
            return False
        return not (unique and scalars.has_repeats(value))

    return test


def _compile_enum(node: Node) -> Predicate | None:
    if not node.enum:
        return None
    if lists_strings(node):
        choices = frozenset(node.enum)
        return lambda value: type(value) is str and value in choices
    enum = node.enum
    return lambda value: scalars.is_one_of(value, enum)


def lists_strings(node: Node) -> bool:
    """Whether a node enumerates strings only, so that its test includes the type."""
    return bool(node.enum) and all(type(choice) is str for choice in node.enum or ())


def _compile_combinators(node: Node) -> Predicate | None:
    if not (node.all_of or node.any_of or node.one_of or node.not_):
        return None
    all_of = [compile_predicate(part) for part in node.all_of]
    any_of = [compile_predicate(part) for part in node.any_of]
    one_of = [compile_predicate(part) for part in node.one_of]
    refused = compile_predicate(node.not_) if node.not_ else None

    def test(value: Any) -> bool:
        return (
            all(part(value) for part in all_of)
            and (not any_of or any(part(value) for part in any_of))
            and (not one_of or sum(part(value) for part in one_of) == 1)
            and (refused is None or not refused(value))
        )

    return test
