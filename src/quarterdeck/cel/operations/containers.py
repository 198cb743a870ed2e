"""Index, selection and membership of lists, maps and optionals, and concatenation of lists."""

from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.operations.classes import class_of, no_overload_error
from quarterdeck.cel.operations.comparison import contains
from quarterdeck.cel.values import NONE, MapList, Optional, SetList, UInt, make_optional


def is_in(item: Any, container: Any) -> bool:
    """`in` for lists and maps."""
    kind = class_of(container)
    if kind is list:
        return contains(container, item)
    if kind is dict:
        return _has_key(container, item)
    raise no_overload_error()


def _has_key(container: dict[Any, Any], key: Any) -> bool:
    if type(key) not in _KEYS:
        return False
    return key in container and _is_same_key(container, key)


_KEYS = frozenset({bool, int, UInt, float, str, type(None)})


def _is_same_key(container: dict[Any, Any], key: Any) -> bool:
    """Whether CEL also finds a key that Python finds: true and 1 are different keys in CEL."""
    if type(key) is str:
        return True
    return any(
        candidate == key and (type(candidate) is bool) == (type(key) is bool)
        for candidate in container
    )


def get_index(container: Any, key: Any) -> Any:
    """`container[key]`."""
    kind = class_of(container)
    if kind is dict:
        if _has_key(container, key):
            return container[key]
        raise _no_key_error(key)
    if kind is list:
        return container[_find_position(container, key)]
    if kind is Optional:
        return get_optional_index(container, key)
    raise _no_key_error(key)


def _no_key_error(key: Any) -> EvaluationError:
    return EvaluationError(f"no such key: {_format_value(key)}")


def _get_position(key: Any) -> int:
    """The list index of a key, which may be out of range."""
    match key:
        case float() if key.is_integer():
            return int(key)
        case float():
            raise EvaluationError(f"unsupported index value {key:g} in list")
        case int() if type(key) is not bool:
            return int(key)
    name = _INDEX_NAMES.get(class_of(key), class_of(key).__name__)
    raise EvaluationError(f"unsupported index type '{name}' in list")


_INDEX_NAMES = {str: "string", dict: "map", type(None): "null_type"}
"""CEL's names of classes, where they differ from Python's."""


def _find_position(container: Any, key: Any) -> int:
    position = _get_position(key)
    if not 0 <= position < len(container):
        raise EvaluationError(f"index out of bounds: {position}")
    return position


def get_optional_index(container: Any, key: Any) -> Optional:
    """`container[?key]`."""
    if isinstance(container, Optional):
        if not container.present:
            return NONE
        container = container.value
    kind = class_of(container)
    if kind is dict:
        return make_optional(container[key]) if _has_key(container, key) else NONE
    if kind is list:
        position = _get_position(key)
        return make_optional(container[position]) if 0 <= position < len(container) else NONE
    return NONE


def select(operand: Any, field: str) -> Any:
    """`operand.field` where the operand is a map, or an optional of one."""
    if isinstance(operand, dict):
        if field in operand:
            return operand[field]
    elif isinstance(operand, Optional):
        return select_optional(operand, field)
    else:
        _refuse_list(operand, field)
    raise _no_key_error(field)


def _refuse_list(operand: Any, field: str) -> None:
    """Raise for a list, which has no fields; other values without fields count as empty."""
    if class_of(operand) is list:
        _get_position(field)


def select_optional(operand: Any, field: str) -> Optional:
    """`operand.?field`."""
    if isinstance(operand, Optional):
        if not operand.present:
            return NONE
        operand = operand.value
    if isinstance(operand, dict):
        return make_optional(operand[field]) if field in operand else NONE
    _refuse_list(operand, field)
    return NONE


def has(operand: Any, field: str) -> bool:
    """`has(operand.field)`."""
    if isinstance(operand, Optional):
        return operand.present and has(operand.value, field)
    if isinstance(operand, dict):
        return field in operand
    _refuse_list(operand, field)
    return False


def add_lists(left: list[Any], right: list[Any]) -> list[Any]:
    """Concatenate lists, or merge them if the left one has list type `set` or `map`."""
    if type(left) is SetList:
        fresh = [item for item in right if not contains(left, item)]
        return SetList([*left, *fresh])
    if type(left) is MapList:
        return _merge(left, right)
    return [*left, *right]


def _merge(left: MapList, right: list[Any]) -> MapList:
    places = {left.key(item): index for index, item in enumerate(left)}
    merged = list(left)
    for item in right:
        key = left.key(item)
        if key in places:
            merged[places[key]] = item
        else:
            places[key] = len(merged)
            merged.append(item)
    return MapList(merged, left.keys)


def _format_value(value: Any) -> str:
    """Format a value for an error message."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case _:
            return str(value)
