"""Pods: defaults, validation of updates, deletion and table cells."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.field import FieldError, forbidden
from quarterdeck.meta.release import has_feature
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.kinds import pod_defaults, pod_table
from quarterdeck.server.kinds.container_validation import validate_image_spaces
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.pod_changes import validate_spec_change
from quarterdeck.server.kinds.pod_features import drop_disabled, keep_observed_generation
from quarterdeck.server.kinds.pod_resize import RESIZE, merge_resize, validate_resize
from quarterdeck.server.kinds.pod_status_validation import validate_pod_status
from quarterdeck.server.kinds.pod_validation import validate_spec
from quarterdeck.server.kinds.pod_warnings import find_pod_warnings
from quarterdeck.server.kinds.projected_volume_validation import validate_no_tokens
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.strategy import get_text
from quarterdeck.server.kinds.templates import validate_pod_template
from quarterdeck.server.registry.printer import NAME, NONE, build_column
from quarterdeck.server.registry.resource import STATUS, Context, Object

EPHEMERAL_CONTAINERS = "ephemeralcontainers"


def _prepare_create(pod: Object, context: Context) -> None:
    drop_disabled(pod["spec"])
    pod["status"] = {
        "phase": "Pending",
        "qosClass": pod_defaults.compute_qos_class(pod["spec"]),
    }
    if pod["spec"].get("schedulingGates"):
        pod["status"]["conditions"] = [_build_gated_condition(context)]


def _build_gated_condition(context: Context) -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": format_time(context.now),
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _prepare_update(pod: Object, old: Object, context: Context) -> None:
    """Restore what `resize` and `ephemeralcontainers` may not change, and omitted status fields."""
    if context.subresource == STATUS:
        quality = get_field(old, STATUS, "qosClass")
        if quality and not get_field(pod, STATUS, "qosClass"):
            pod[STATUS] = {**get_mapping(pod, STATUS), "qosClass": quality}
        if has_feature("PodObservedGenerationTracking"):
            keep_observed_generation(pod[STATUS], get_mapping(old, STATUS))
    if context.subresource == RESIZE:
        pod["spec"] = merge_resize(get_mapping(pod, "spec"), get_mapping(old, "spec"))
    elif context.subresource == EPHEMERAL_CONTAINERS:
        added = get_items(pod, "spec", "ephemeralContainers")
        spec = {**get_mapping(old, "spec")}
        spec.pop("ephemeralContainers", None)
        if added:
            spec["ephemeralContainers"] = added
        pod["spec"] = copy_value(spec)
    else:
        return
    for name in ("labels", "annotations", "finalizers", "ownerReferences"):
        if name in old["metadata"]:
            pod["metadata"][name] = copy_value(old["metadata"][name])
        else:
            pod["metadata"].pop(name, None)


def _validate(pod: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(pod, "spec")
    yield from validate_spec(spec, "spec")
    if not spec.get("serviceAccountName"):
        yield from validate_no_tokens(spec, "spec")
    yield from validate_image_spaces(spec, "spec")


def _validate_new(pod: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(pod, "spec")
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        text = "cannot be set until all schedulingGates have been cleared"
        yield forbidden("spec.nodeName", text)


def _validate_update(pod: Object, old: Object, context: Context) -> Iterator[FieldError]:
    if context.subresource == EPHEMERAL_CONTAINERS:
        yield from _validate_ephemeral_update(pod, old)
    if context.subresource == RESIZE:
        yield from validate_resize(pod, old)
    if context.subresource:
        return
    yield from validate_spec_change(get_mapping(pod, "spec"), get_mapping(old, "spec"))


def _validate_ephemeral_update(pod: Object, old: Object) -> Iterator[FieldError]:
    """Check that existing ephemeral containers are neither changed nor removed."""
    present = {each.get("name"): each for each in get_items(pod, "spec", "ephemeralContainers")}
    for each in get_items(old, "spec", "ephemeralContainers"):
        name = each.get("name")
        if present.get(name) != each:
            verb = "changed" if name in present else "removed"
            text = f'existing ephemeral containers "{name}" may not be {verb}\n'
            yield forbidden("spec.ephemeralContainers", text)


def _compute_grace_period(pod: Object, requested: int | None) -> int:
    """Compute the grace period: running pods have one; a negative request means one second."""
    if not get_field(pod, "spec", "nodeName") or get_field(pod, "status", "phase") in (
        "Succeeded",
        "Failed",
    ):
        return 0
    wanted = requested
    if wanted is None:
        wanted = get_field(pod, "spec", "terminationGracePeriodSeconds")
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


def _get_field_values(pod: Object) -> Mapping[str, str]:
    values = {path: get_text(pod, path, absent) for path, absent in _SELECTABLE.items()}
    addresses = get_items(pod, "status", "podIPs")
    values["status.podIPs"] = ",".join(each.get("ip", "") for each in addresses)
    return values


POD = Rules(
    default=pod_defaults.default_pod,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate=_validate,
    validate_new=_validate_new,
    validate_change=_validate_update,
    validate_status=validate_pod_status,
    warn=find_pod_warnings,
    generation_fields=("spec",),
    generation_feature="PodObservedGenerationTracking",
    generation_exempt=frozenset({"nodeName"}),  # a binding does not count
    status_updates_labels=True,
    selectable={**_SELECTABLE, "status.podIPs": ""},
    field_values=_get_field_values,
    columns=pod_table.COLUMNS,
    cells=pod_table.build_cells,
    grace_period=_compute_grace_period,
)


def _default_template_object(value: Object) -> None:
    pod_defaults.default_template(value.setdefault("template", {}))


def _build_template_cells(value: Object, now: datetime) -> Sequence[object]:
    containers = get_items(value, "template", "spec", "containers")
    labels = get_mapping(value, "template", "metadata", "labels")
    return (
        value["metadata"].get("name", ""),
        ",".join(each.get("name") or "" for each in containers),
        ",".join(each.get("image") or "" for each in containers),
        ",".join(f"{name}={labels[name]}" for name in sorted(labels)) or NONE,
    )


POD_TEMPLATE = Rules(
    default=_default_template_object,
    generation_fields=("template",),
    validate=lambda value, context: validate_pod_template(
        get_mapping(value, "template"), "template"
    ),
    columns=(
        NAME,
        build_column("Containers", text="Names of each container in the template."),
        build_column("Images", text="Images referenced by each container in the template."),
        build_column("Pod Labels", text="The labels for the pod template."),
    ),
    cells=_build_template_cells,
)
