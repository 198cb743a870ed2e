"""Types of what comprehensions walk, bind and yield."""

from typing import NamedTuple

from quarterdeck.cel.syntax.ast import Comprehension
from quarterdeck.cel.types import BOOL, DYN, INT, Kind, Type, list_of, map_of


class Walked(NamedTuple):
    """What a range consists of."""

    key: Type
    element: Type


def walked(range_type: Type) -> Walked | None:
    """Index or key, and element, of a range; None if the type cannot be walked."""
    match range_type.kind:
        case Kind.LIST:
            return Walked(INT, range_type.params[0])
        case Kind.MAP:
            return Walked(range_type.params[0], range_type.params[1])
        case Kind.DYN | Kind.ERROR | Kind.PARAM:
            return Walked(DYN, DYN)
    return None


def scope(node: Comprehension, range_type: Type, parts: Walked) -> dict[str, Type]:
    """The variables: one walks a list's elements or a map's keys, two walk both."""
    if node.var2:
        return {node.var: parts.key, node.var2: parts.element}
    return {node.var: parts.key if range_type.kind is Kind.MAP else parts.element}


def result(node: Comprehension, variables: dict[str, Type], key: Type, step: Type) -> Type:
    """The type of the whole."""
    match node.kind:
        case "all" | "exists" | "exists_one":
            return BOOL
        case "filter":
            return list_of(variables[node.var])
        case "map" | "transform_list":
            return list_of(step)
        case "transform_map":
            return map_of(key, step)
        case "transform_map_entry":
            return step if step.kind is Kind.MAP else map_of(DYN, DYN)
