"""How pods are spread over zones and nodes."""

from collections.abc import Iterator

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, forbidden, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.registry.resource import Object

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION_POLICIES = ("Honor", "Ignore")
_POSITIVE = "must be greater than zero"


def validate_topology_spread_constraints(spec: Object, path: str) -> Iterator[FieldError]:
    """Check the constraints of a pod's topology."""
    constraints = get_items(spec, "topologySpreadConstraints")
    identities = [
        (each.get("topologyKey") or "", each.get("whenUnsatisfiable") or "") for each in constraints
    ]
    for index, (each, identity) in enumerate(zip(constraints, identities, strict=True)):
        place = f"{path}.topologySpreadConstraints[{index}]"
        yield from _validate_constraint(each, place)
        if identity in identities[index + 1 :]:
            shown = f"{{{', '.join(identity)}}}"
            yield duplicate(f"{place}.{{topologyKey, whenUnsatisfiable}}", shown)


def _validate_constraint(constraint: Object, path: str) -> Iterator[FieldError]:
    skew, action = constraint.get("maxSkew") or 0, constraint.get("whenUnsatisfiable")
    if skew <= 0:
        yield invalid(f"{path}.maxSkew", skew, _POSITIVE)
    if not constraint.get("topologyKey"):
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from validators.validate_required_enum(f"{path}.whenUnsatisfiable", action, _ACTIONS)
    domains = constraint.get("minDomains")
    if domains is not None and domains <= 0:
        yield invalid(f"{path}.minDomains", domains, _POSITIVE)
    if domains is not None and action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action or ''}"
        yield invalid(f"{path}.minDomains", domains, text)
    for member in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(member)
        yield from validators.validate_enum(f"{path}.{member}", policy, _INCLUSION_POLICIES)
    selector = constraint.get("labelSelector")
    if constraint.get("matchLabelKeys"):
        yield from _validate_keys(constraint, f"{path}.matchLabelKeys")
    yield from validators.validate_label_selector(f"{path}.labelSelector", selector)


def _validate_keys(constraint: Object, path: str) -> Iterator[FieldError]:
    """Check keys whose values are taken from the new pod."""
    selector = get_mapping(constraint, "labelSelector")
    if constraint.get("labelSelector") is None:
        yield forbidden(path, "must not be specified when labelSelector is not set")
    selected = set(get_mapping(selector, "matchLabels"))
    selected |= {term.get("key") for term in get_items(selector, "matchExpressions")}
    for index, key in enumerate(get_items(constraint, "matchLabelKeys")):
        for problem in names.check_qualified_name(key):
            yield invalid(f"{path}[{index}]", key, problem)
        if key in selected:
            text = "exists in both matchLabelKeys and labelSelector"
            yield invalid(f"{path}[{index}]", key, text)
