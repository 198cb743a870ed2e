"""Ranges that addresses of services come from, and the addresses that were taken."""

from collections.abc import Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.addresses import validate_network
from quarterdeck.server.kinds.device_fields import FieldErrors
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_MOST_RANGES = 2


def _validate_ranges(spec: Object) -> FieldErrors:
    ranges, path = get_items(spec, "cidrs"), "spec.cidrs"
    if not ranges:
        yield required(path, "at least one CIDR required")
        return
    if len(ranges) > _MOST_RANGES:
        shown = format_go_struct("networking/v1.ServiceCIDRSpec", spec)
        yield invalid(path, shown, "may only hold up to 2 values")
        return
    for index, text in enumerate(ranges):
        yield from _validate_range(text, f"{path}[{index}]")
    families = {each.version for text in ranges if (each := validators.parse_network(text))}
    if len(ranges) == _MOST_RANGES and len(families) == 1:
        text = (
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and"
            " 2001:db8::/64"
        )
        yield invalid(path, validators.format_go_strings(ranges), text)


def _validate_range(text: str, path: str) -> FieldErrors:
    problems = [*validate_network(path, text)]
    yield from problems
    network = validators.parse_network(text)
    if not problems and text != str(network):
        yield invalid(path, text, f'must be in canonical form ("{network}")')


def _validate_new_range(value: Object, context: Context) -> FieldErrors:
    return _validate_ranges(get_mapping(value, "spec"))


def _validate_range_change(value: Object, old: Object, context: Context) -> FieldErrors:
    """Check that ranges stay; a second one may be added."""
    new, before = get_items(value, "spec", "cidrs"), get_items(old, "spec", "cidrs")
    is_extended = len(before) == 1 and len(new) == _MOST_RANGES
    if len(new) != len(before) and not is_extended:
        yield invalid("spec.cidrs", validators.format_go_strings(new), validators.IMMUTABLE)
        return
    for index, (after, was) in enumerate(zip(new, before, strict=False)):
        if after != was:
            yield invalid(f"spec.cidrs[{index}]", after, validators.IMMUTABLE)
    if is_extended:
        yield from _validate_ranges(get_mapping(value, "spec"))


def _build_range_cells(value: Object, now: datetime) -> Sequence[object]:
    ranges = ",".join(get_items(value, "spec", "cidrs"))
    return (value["metadata"].get("name", ""), ranges, format_creation_age(value, now))


SERVICE_CIDR = Rules(
    validate_new=_validate_new_range,
    validate_change=_validate_range_change,
    columns=(NAME, build_column("CIDRs"), AGE),
    cells=_build_range_cells,
)


def _validate_address(value: Object, context: Context) -> FieldErrors:
    parent = get_mapping(value, "spec").get("parentRef")
    path = "spec.parentRef"
    if parent is None:
        yield required(path)
        return
    if group := parent.get("group"):
        for problem in names.check_dns1123_subdomain(group):
            yield invalid(f"{path}.group", group, problem)
    for member in ("resource", "name", "namespace"):
        text = parent.get(member) or ""
        if not text and member != "namespace":
            yield required(f"{path}.{member}")
        for problem in names.check_path_segment(text) if text else ():
            yield invalid(f"{path}.{member}", text, problem)


def _validate_address_change(value: Object, old: Object, context: Context) -> FieldErrors:
    new = get_mapping(value, "spec").get("parentRef")
    if new != get_mapping(old, "spec").get("parentRef"):
        shown = format_go_struct("networking/v1.ParentReference", new or {})
        yield invalid("spec.parentRef", shown, validators.IMMUTABLE)


def _build_address_cells(value: Object, now: datetime) -> Sequence[object]:
    parent = get_mapping(value, "spec", "parentRef")
    members = ("resource", "group", "namespace", "name")
    resource, group, namespace, name = (parent.get(each) or "" for each in members)
    shown = (f"{resource}.{group}" if group else resource).lower()
    shown += f"/{namespace}" if namespace else ""
    return (
        value["metadata"].get("name", ""),
        f"{shown}/{name}",
        format_creation_age(value, now),
    )


IP_ADDRESS = Rules(
    validate=_validate_address,
    validate_change=_validate_address_change,
    name="address",
    columns=(NAME, build_column("ParentRef")),  # the third cell has no column in Kubernetes
    cells=_build_address_cells,
)
