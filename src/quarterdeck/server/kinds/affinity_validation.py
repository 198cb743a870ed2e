"""Affinity of pods to nodes and to other pods."""

from collections.abc import Iterator
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, forbidden, invalid, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.registry.resource import Object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATOR = "not a valid selector operator"


def validate_affinity(affinity: Object, path: str) -> Iterator[FieldError]:
    """Check the node and pod affinity of a pod."""
    nodes = get_mapping(affinity, "nodeAffinity")
    if (selector := nodes.get(_REQUIRED)) is not None:
        place = f"{path}.nodeAffinity.{_REQUIRED}"
        checks = has_feature("LabelValuesOfNodeAffinity")
        yield from validate_node_selector(selector, place, checks_values=checks)
    for index, term in enumerate(get_items(nodes, _PREFERRED)):
        place = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        yield from _validate_weight(term, place)
        preference = get_mapping(term, "preference")
        yield from _validate_node_term(preference, f"{place}.preference", checks_values=False)
    for member in ("podAffinity", "podAntiAffinity"):
        yield from _validate_neighbors(get_mapping(affinity, member), f"{path}.{member}")


def validate_node_selector(
    selector: Object, path: str, *, checks_values: bool = False
) -> Iterator[FieldError]:
    """Check a selector of nodes; until 1.32 the values of a pod's need not be valid."""
    terms = get_items(selector, "nodeSelectorTerms")
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        place = f"{path}.nodeSelectorTerms[{index}]"
        yield from _validate_node_term(term, place, checks_values=checks_values)


def _validate_weight(term: Object, path: str) -> Iterator[FieldError]:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_node_term(term: Object, path: str, *, checks_values: bool) -> Iterator[FieldError]:
    for index, each in enumerate(get_items(term, "matchExpressions")):
        place = f"{path}.matchExpressions[{index}]"
        yield from _validate_expression(each, place)
        if checks_values:
            yield from _validate_values(each, place)
    for index, each in enumerate(get_items(term, "matchFields")):
        yield from _validate_field(each, f"{path}.matchFields[{index}]")


def _validate_expression(term: Object, path: str) -> Iterator[FieldError]:
    operator, values = term.get("operator") or "", get_items(term, "values")
    match operator:
        case "In" | "NotIn":
            if not values:
                text = "must be specified when `operator` is 'In' or 'NotIn'"
                yield required(f"{path}.values", text)
        case "Exists" | "DoesNotExist":
            if values:
                text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield forbidden(f"{path}.values", text)
        case "Gt" | "Lt":
            if len(values) != 1:
                text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                yield required(f"{path}.values", text)
        case _:
            yield invalid(f"{path}.operator", operator, _OPERATOR)
    yield from _validate_label_name(term.get("key") or "", f"{path}.key")


def _validate_values(term: Object, path: str) -> Iterator[FieldError]:
    for index, value in enumerate(get_items(term, "values")):
        for problem in names.check_label_value(value):
            yield invalid(f"{path}.values[{index}]", value, problem)


def _validate_field(term: Object, path: str) -> Iterator[FieldError]:
    operator, values = term.get("operator") or "", get_items(term, "values")
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, _OPERATOR)
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", text)
    key = term.get("key") or ""
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        for problem in names.check_dns1123_subdomain(value):
            yield invalid(f"{path}.values[{index}]", value, problem)


def _validate_label_name(name: str, path: str) -> Iterator[FieldError]:
    for problem in names.check_qualified_name(name):
        yield invalid(path, name, problem)


# other pods --------------------------------------------------------------------------------------


def _validate_neighbors(affinity: Object, path: str) -> Iterator[FieldError]:
    for index, term in enumerate(get_items(affinity, _REQUIRED)):
        yield from _validate_pod_term(term, f"{path}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(get_items(affinity, _PREFERRED)):
        place = f"{path}.{_PREFERRED}[{index}]"
        yield from _validate_weight(weighted, place)
        term = get_mapping(weighted, "podAffinityTerm")
        yield from _validate_pod_term(term, f"{place}.podAffinityTerm")


def _validate_pod_term(term: Object, path: str) -> Iterator[FieldError]:
    for member in ("labelSelector", "namespaceSelector"):
        yield from validators.validate_label_selector(f"{path}.{member}", term.get(member))
    for namespace in get_items(term, "namespaces"):
        for problem in names.check_dns1123_label(namespace):
            yield invalid(f"{path}.namespace", namespace, problem)
    if term.get("matchLabelKeys") or term.get("mismatchLabelKeys"):
        yield from _validate_label_keys(term, path)
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from _validate_label_name(key, f"{path}.topologyKey")


def _validate_label_keys(term: Object, path: str) -> Iterator[FieldError]:
    """Check keys whose values are taken from the new pod."""
    selector = term.get("labelSelector")
    for member in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = get_items(term, member)
        if keys and selector is None:
            text = "must not be specified when labelSelector is not set"
            yield forbidden(f"{path}.{member}", text)
            continue
        for index, key in enumerate(keys):
            yield from _validate_label_name(key, f"{path}.{member}[{index}]")
    wanted = get_items(term, "matchLabelKeys")
    yield from _find_selected_twice(wanted, selector or {}, path)
    for index, key in enumerate(wanted):
        if key in get_items(term, "mismatchLabelKeys"):
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, text)


def _find_selected_twice(keys: list[Any], selector: Object, path: str) -> Iterator[FieldError]:
    places = {key: index for index, key in enumerate(keys)}
    seen = set(get_mapping(selector, "matchLabels"))
    for term in get_items(selector, "matchExpressions"):
        key = term.get("key") or ""
        if key in places and key in seen:
            text = "exists in both matchLabelKeys and labelSelector"
            yield invalid(f"{path}[{places[key]}]", key, text)
        seen.add(key)
