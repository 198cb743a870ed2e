"""Validation of pod updates: images, a shorter deadline, more tolerations, fewer gates.

While a pod has scheduling gates, its node selector and node affinity may be narrowed down.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.meta.field import FieldError, forbidden, invalid
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.pod_diff import diff_specs
from quarterdeck.server.kinds.pod_validation import validate_tolerations
from quarterdeck.server.registry.resource import Object

_FORBIDDEN_UPDATE_MESSAGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_LARGEST = 2**31 - 1


def validate_spec_change(spec: Object, before: Object) -> Iterator[FieldError]:
    """Check the changes of a pod spec."""
    for member, words in (("containers", "containers"), ("initContainers", "init containers")):
        if len(get_items(spec, member)) != len(get_items(before, member)):
            text = f"pod updates may not add or remove {words}"
            yield forbidden(f"spec.{member}", text)
            return
    problems = [*_validate_deadline(spec, before)]
    yield from problems
    if problems and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from validate_tolerations(get_items(spec, "tolerations"), "spec.tolerations")
    if not _is_superset_of_tolerations(
        get_items(spec, "tolerations"), get_items(before, "tolerations")
    ):
        text = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", text)
    known = {gate.get("name") for gate in get_items(before, "schedulingGates")}
    for index, gate in enumerate(get_items(spec, "schedulingGates")):
        if gate.get("name") not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", text)
    if known:
        yield from _validate_place(spec, before)
    reverted = _revert_allowed_changes(spec, before)
    if reverted != before:
        yield forbidden("spec", f"{_FORBIDDEN_UPDATE_MESSAGE}\n{diff_specs(before, reverted)}")


def _validate_deadline(spec: Object, before: Object) -> Iterator[FieldError]:
    path = "spec.activeDeadlineSeconds"
    deadline, was = (each.get("activeDeadlineSeconds") for each in (spec, before))
    if deadline is None:
        if was is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= deadline <= _LARGEST:
        yield invalid(path, deadline, f"must be between 0 and {_LARGEST}, inclusive")
    elif was is not None and was < deadline:
        yield invalid(path, deadline, "must be less than or equal to previous value")


# where a gated pod may run -----------------------------------------------------------------------


def _validate_place(spec: Object, before: Object) -> Iterator[FieldError]:
    """Check that node selector and node affinity of a gated pod are only narrowed down."""
    selector, was = (get_mapping(each, "nodeSelector") for each in (spec, before))
    if not was.items() <= selector.items():
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", validators.format_go_map(selector or None), text)
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    terms, old_terms = (_get_node_terms(each) for each in (spec, before))
    if old_terms and len(terms) != len(old_terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(path, terms, text)
        return
    for index, (term, old) in enumerate(zip(terms, old_terms, strict=False)):
        if not _adds_only(term, old):
            text = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{path}[{index}]", term, text)


def _get_node_terms(spec: Object) -> list[Any]:
    return get_items(spec, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")


def _adds_only(term: Object, old: Object) -> bool:
    pairs = [
        (get_items(term, member), get_items(old, member))
        for member in ("matchExpressions", "matchFields")
    ]
    if not any(before for _, before in pairs):
        return not any(now for now, _ in pairs)
    return all(now[: len(before)] == before for now, before in pairs)


# the rest ----------------------------------------------------------------------------------------


def _is_superset_of_tolerations(new: Sequence[Any], old: Sequence[Any]) -> bool:
    def identity(each: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted((k, v) for k, v in each.items() if k != "tolerationSeconds"))

    kept = {identity(each) for each in new}
    return all(identity(each) in kept for each in old)


def _revert_allowed_changes(spec: Object, before: Object) -> Object:
    """Return the new spec without the allowed changes; it must equal the old one."""
    members = ["activeDeadlineSeconds", "tolerations", "schedulingGates"]
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and spec.get(grace) == 1:
        members.append(grace)
    if before.get("schedulingGates"):
        members.append("nodeSelector")
        spec = _revert_node_affinity(spec, before)
    reverted = {name: each for name, each in spec.items() if name not in members}
    reverted |= {name: before[name] for name in members if name in before}
    for member in ("containers", "initContainers"):
        if member in before:
            reverted[member] = [
                {**new, "image": old.get("image")}
                for old, new in zip(before[member], spec.get(member) or (), strict=False)
            ]
    return reverted


def _revert_node_affinity(spec: Object, before: Object) -> Object:
    affinity = {**get_mapping(spec, "affinity")}
    affinity.pop("nodeAffinity", None)
    nodes = get_mapping(before, "affinity").get("nodeAffinity")
    if nodes is not None:
        affinity["nodeAffinity"] = nodes
    reverted = {name: each for name, each in spec.items() if name != "affinity"}
    return {**reverted, "affinity": affinity} if affinity or "affinity" in before else reverted
