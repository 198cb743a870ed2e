"""Pods: what they start with, what may change, how they end, how they are shown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.meta.field import FieldError, forbidden
from quarterdeck.server.kinds import pod_defaults, pod_table
from quarterdeck.server.kinds.fields import at, items, mapping
from quarterdeck.server.kinds.pod_diff import spec_diff
from quarterdeck.server.kinds.pod_validation import spec_problems
from quarterdeck.server.kinds.pod_warnings import pod_warnings
from quarterdeck.server.kinds.strategy import Rules, text_at
from quarterdeck.server.registry.resource import Context, Object

_FROZEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)


def _prepare_create(pod: Object, context: Context) -> None:
    pod["status"] = {
        "phase": "Pending",
        "qosClass": pod_defaults.quality_of_service(pod["spec"]),
    }


def _problems(pod: Object, context: Context) -> Iterator[FieldError]:
    yield from spec_problems(mapping(pod, "spec"), "spec")


def _change_problems(pod: Object, old: Object, context: Context) -> Iterator[FieldError]:
    if context.subresource:
        return
    spec, before = mapping(pod, "spec"), mapping(old, "spec")
    for member, words in (("containers", "containers"), ("initContainers", "init containers")):
        if len(items(spec, member)) != len(items(before, member)):
            text = f"pod updates may not add or remove {words}"
            yield forbidden(f"spec.{member}", text)
            return
    if not _keeps_tolerations(items(spec, "tolerations"), items(before, "tolerations")):
        text = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", text)
    allowed = _with_allowed_changes(spec, before)
    if allowed != spec:
        yield forbidden("spec", f"{_FROZEN}\n{spec_diff(before, spec)}")


def _keeps_tolerations(new: Sequence[Any], old: Sequence[Any]) -> bool:
    def identity(each: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted((k, v) for k, v in each.items() if k != "tolerationSeconds"))

    kept = {identity(each) for each in new}
    return all(identity(each) in kept for each in old)


def _with_allowed_changes(spec: Object, before: Object) -> Object:
    """The old spec with the changes that are allowed: what the new one must be equal to."""
    allowed = dict(before)
    for member in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        if member in spec:
            allowed[member] = spec[member]
    for member in ("tolerations", "schedulingGates"):
        if member not in spec:
            allowed.pop(member, None)
    if before.get("terminationGracePeriodSeconds", 0) < 0:
        allowed["terminationGracePeriodSeconds"] = spec.get("terminationGracePeriodSeconds")
    for member in ("containers", "initContainers"):
        if member in before:
            allowed[member] = [
                {**old, "image": new.get("image")}
                for old, new in zip(before[member], spec.get(member) or (), strict=False)
            ]
    return allowed


def _grace_period(pod: Object, requested: int | None) -> int:
    """Scheduled pods that still run get time; a negative wish is the shortest one."""
    if not at(pod, "spec", "nodeName") or at(pod, "status", "phase") in ("Succeeded", "Failed"):
        return 0
    wanted = requested
    if wanted is None:
        wanted = at(pod, "spec", "terminationGracePeriodSeconds")
    if wanted is None:
        wanted = 30
    return 1 if wanted < 0 else int(wanted)


_SELECTABLE = {
    "spec.nodeName": "",
    "spec.restartPolicy": "",
    "spec.schedulerName": "",
    "spec.serviceAccountName": "",
    "spec.hostNetwork": "false",
    "status.phase": "",
    "status.podIP": "",
    "status.nominatedNodeName": "",
}


def _field_values(pod: Object) -> Mapping[str, str]:
    values = {path: text_at(pod, path, absent) for path, absent in _SELECTABLE.items()}
    addresses = items(pod, "status", "podIPs")
    values["status.podIPs"] = ",".join(each.get("ip", "") for each in addresses)
    return values


POD = Rules(
    default=pod_defaults.default_pod,
    prepare_create=_prepare_create,
    validate=_problems,
    validate_change=_change_problems,
    warn=pod_warnings,
    status_may_label=True,
    selectable={**_SELECTABLE, "status.podIPs": ""},
    field_values=_field_values,
    columns=pod_table.COLUMNS,
    cells=pod_table.cells,
    grace_period=_grace_period,
)


def _default_template_object(value: Object) -> None:
    pod_defaults.default_template(value.setdefault("template", {}))


POD_TEMPLATE = Rules(
    default=_default_template_object,
    counted=("template",),
    validate=lambda value, context: spec_problems(
        mapping(value, "template", "spec"), "template.spec"
    ),
)
