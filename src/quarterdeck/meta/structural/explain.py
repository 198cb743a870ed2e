"""Finds every error of an invalid value, with the text and order of Kubernetes.

It runs only for values that the compiled test refused, so it reads the schema directly and need not
be fast. With an old value, an error in a part that can be matched with its old value and did not
change is not reported (ratcheting).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from quarterdeck.meta.field import (
    FieldError,
    format_go_float,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
    too_many,
    type_invalid,
)
from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural import formats, scalars


class _Missing:
    """Marks that there is no old value, or none that can be matched; null is an old value."""


MISSING = _Missing()
_TYPE_META = frozenset({"apiVersion", "kind"})


def explain(node: Node, value: Any, path: str, *, old: Any = MISSING) -> list[FieldError]:
    """Find every error of the value at `path` (empty for a whole object)."""
    errors = list(_check_node(node, value, path, old))
    if errors and old is not MISSING and _is_unchanged(node, value, old):
        return []
    return errors


def _check_node(node: Node, value: Any, path: str, old: Any) -> Iterator[FieldError]:
    yield from _check_type(node, value, path)
    if value is None:
        yield from _check_enum(node, value, path)
        return
    yield from _check_combinators(node, value, path, old)
    if type(value) is str:
        yield from _check_string(node, value, path)
    elif type(value) in (int, float):
        yield from _check_number(node, value, path)
    elif type(value) is list:
        yield from _check_list(node, value, path, old)
    yield from _check_enum(node, value, path)
    if type(value) is dict:
        yield from _check_object(node, value, path, old)


def _check_type(node: Node, value: Any, path: str) -> Iterator[FieldError]:
    expected: str = "integer,string" if node.int_or_string else node.type
    if not expected or (value is None and node.nullable):
        return
    actual = scalars.type_name(value)
    wanted = expected.split(",")
    if actual in wanted or (actual == "integer" and "number" in wanted):
        return
    if actual == "number" and "integer" in wanted and scalars.is_whole(value):
        return
    shown = actual
    if value is not None and formats.is_known(node.format) and type(value) not in (str, list):
        expected, shown = node.format, _format_go_kind(value)
    yield type_invalid(path, shown, f"{path} in body must be of type {expected}: {quote(shown)}")


def _format_go_kind(value: Any) -> str:
    match value:
        case bool():
            return ""
        case int():
            return "int64"
        case float():
            return "float64"
        case _:
            return ""


def _check_string(node: Node, value: str, path: str) -> Iterator[FieldError]:
    if node.max_length is not None and len(value) > node.max_length:
        yield too_long(path, "", node.max_length)
    elif node.min_length is not None and len(value) < node.min_length:
        least = node.min_length
        yield invalid(path, value, f"{path} in body should be at least {least} chars long")
    elif node.pattern and not scalars.matches(node.pattern, value):
        yield invalid(path, value, f"{path} in body should match '{node.pattern}'")
    test = formats.find_format_check(node.format)
    if test is not None and not test(value):
        text = f"{path} in body must be of type {node.format}: {quote(value)}"
        yield type_invalid(path, value, text)


def _check_number(node: Node, value: int | float, path: str) -> Iterator[FieldError]:
    factor, low, high = node.multiple_of, node.minimum, node.maximum
    if factor is not None and not scalars.is_multiple(value, factor):
        shown = _format_limit(value, factor)
        yield invalid(path, value, f"{path} in body should be a multiple of {shown}")
    if low is not None and scalars.is_below(value, low, exclusive=node.exclusive_minimum):
        words = "greater than" if node.exclusive_minimum else "greater than or equal to"
        yield invalid(path, value, f"{path} in body should be {words} {_format_limit(value, low)}")
    if high is not None and scalars.is_above(value, high, exclusive=node.exclusive_maximum):
        words = "less than" if node.exclusive_maximum else "less than or equal to"
        yield invalid(path, value, f"{path} in body should be {words} {_format_limit(value, high)}")


def _format_limit(value: int | float, limit: int | float) -> str:
    return str(int(limit)) if type(value) is int else format_go_float(float(limit))


def _check_list(node: Node, value: list[Any], path: str, old: Any) -> Iterator[FieldError]:
    if node.items is not None:
        for index, member in enumerate(value):
            before = _find_old_item(node, member, old)
            yield from explain(node.items, member, f"{path}[{index}]", old=before)
    if node.min_items is not None and len(value) < node.min_items:
        text = f"{path} in body should have at least {node.min_items} items"
        yield invalid(path, len(value), text)
    if node.max_items is not None and len(value) > node.max_items:
        yield too_many(path, len(value), node.max_items)
    if node.unique_items and scalars.has_repeats(value):
        yield invalid(path, "", f"{path} in body shouldn't contain duplicates")


def _check_enum(node: Node, value: Any, path: str) -> Iterator[FieldError]:
    if node.enum and not scalars.is_one_of(value, node.enum):
        choices = [
            choice if isinstance(choice, str) else _encode_json(choice) for choice in node.enum
        ]
        yield not_supported(path, value, choices)


def _encode_json(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def _check_object(node: Node, value: dict[str, Any], path: str, old: Any) -> Iterator[FieldError]:
    if node.min_properties is not None and len(value) < node.min_properties:
        text = f"{path} in body should have at least {node.min_properties} properties"
        yield invalid(path, len(value), text)
    if node.max_properties is not None and len(value) > node.max_properties:
        yield too_many(path, len(value), node.max_properties)
    yield from _check_additional(node, value, path, old)
    for key in sorted(node.properties.keys() & value.keys()):
        before = _find_old_member(value, old, key)
        if not path and key in _TYPE_META:
            before = MISSING
        child = node.properties[key]
        yield from explain(child, value[key], _join(path, key), old=before)
    for key in node.required:
        if key not in value:
            yield required(_join(path, key))


def _check_additional(
    node: Node, value: dict[str, Any], path: str, old: Any
) -> Iterator[FieldError]:
    others = sorted(value.keys() - node.properties.keys())
    if node.additional is False:
        for key in others:
            yield invalid(path, key, f"{_join(path, key)} in body is a forbidden property")
    elif isinstance(node.additional, Node):
        for key in others:
            before = _find_old_member(value, old, key)
            yield from explain(node.additional, value[key], _join(path, key), old=before)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


# combinators --------------------------------------------------------------------------------------


def _check_combinators(node: Node, value: Any, path: str, old: Any) -> Iterator[FieldError]:
    shown = quote(path)
    if node.any_of:
        yield from _check_any_of(node.any_of, value, path, old)
    if node.one_of:
        yield from _check_one_of(node.one_of, value, path, old)
    if node.all_of:
        found = [list(_check_node(part, value, path, old)) for part in node.all_of]
        for errors in found:
            yield from errors
        if any(found):
            none = ". None validated" if all(found) else ""
            yield invalid("<nil>", "", f"{shown} must validate all the schemas (allOf){none}")
    if node.not_ is not None and not list(_check_node(node.not_, value, path, old)):
        yield invalid("<nil>", "", f"{shown} must not validate the schema (not)")


def _check_any_of(parts: Sequence[Node], value: Any, path: str, old: Any) -> Iterator[FieldError]:
    found = [list(_check_node(part, value, path, old)) for part in parts]
    if all(found):
        text = f"{quote(path)} must validate at least one schema (anyOf)"
        yield invalid("<nil>", "", text)
        yield from found[_find_closest(parts, value)]


def _check_one_of(parts: Sequence[Node], value: Any, path: str, old: Any) -> Iterator[FieldError]:
    found = [list(_check_node(part, value, path, old)) for part in parts]
    valid = sum(not errors for errors in found)
    if valid == 1:
        return
    why = f"Found {valid} valid alternatives" if valid else "Found none valid"
    text = f"{quote(path)} must validate one and only one schema (oneOf). {why}"
    yield invalid("<nil>", "", text)
    if not valid:
        yield from found[_find_closest(parts, value)]


def _find_closest(parts: Sequence[Node], value: Any) -> int:
    """Return the index of the alternative with most members of the value; the first on a tie."""
    weights = [_count_mentions(part, value) for part in parts]
    return weights.index(max(weights))


def _count_mentions(node: Node, value: Any) -> int:
    if type(value) is dict:
        shared = node.properties.keys() & value.keys()
        return 1 + sum(_count_mentions(node.properties[key], value[key]) for key in shared)
    if type(value) is list and node.items is not None:
        return 1 + sum(_count_mentions(node.items, member) for member in value)
    return 1


# ratcheting --------------------------------------------------------------------------------------


def _find_old_member(value: dict[str, Any], old: Any, key: str) -> Any:
    return old.get(key, MISSING) if type(old) is dict else MISSING


def _find_old_item(node: Node, member: Any, old: Any) -> Any:
    """Return the old item with the same keys; only items of lists of type map can be matched."""
    if node.list_type != "map" or type(old) is not list or type(member) is not dict:
        return MISSING
    for before in old:
        if type(before) is dict and all(
            before.get(key) == member.get(key) for key in node.list_map_keys
        ):
            return before
    return MISSING


def _is_unchanged(node: Node, value: Any, old: Any) -> bool:
    """Whether two values are equal; the order of a list of type map does not matter."""
    if node.list_type == "map" and type(value) is list and type(old) is list:
        return len(value) == len(old) and all(
            _find_old_item(node, member, old) == member for member in value
        )
    return bool(value == old) and type(value) is type(old)
