"""Stateful sets."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, forbidden, invalid
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import replica_status, validators
from quarterdeck.server.kinds.claim_validation import validate_claim_spec
from quarterdeck.server.kinds.claim_warnings import find_template_claim_warnings
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.pod_validation import validate_spec
from quarterdeck.server.kinds.pod_warnings import find_template_warnings
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.templates import (
    CONTAINERS,
    IMAGES,
    ROLLING,
    build_wide_cells,
    format_scale_selector,
    is_invalid_selector,
    validate_always_running,
    validate_selector,
    validate_template_labels,
    validate_template_metadata,
)
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_MUTABLE_FIELDS = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _default_stateful_set(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = ROLLING
        set_defaults(strategy, rollingUpdate={})
    if strategy["type"] == ROLLING and strategy.get("rollingUpdate") is not None:
        set_defaults(strategy["rollingUpdate"], partition=0)
    set_defaults(spec, persistentVolumeClaimRetentionPolicy={}, replicas=1, revisionHistoryLimit=10)
    for member in ("whenDeleted", "whenScaled"):
        if not spec["persistentVolumeClaimRetentionPolicy"].get(member):
            spec["persistentVolumeClaimRetentionPolicy"][member] = "Retain"
    for claim in get_items(spec, "volumeClaimTemplates"):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
        claim.setdefault("status", {})
        if not claim["status"].get("phase"):
            claim["status"]["phase"] = "Pending"
        set_defaults(claim.setdefault("spec", {}), volumeMode="Filesystem")


def _validate_stateful_set(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    policies = ("OrderedReady", "Parallel")
    policy = spec.get("podManagementPolicy")
    if policy not in policies:
        text = f"must be '{policies[0]}' or '{policies[1]}'"
        yield invalid("spec.podManagementPolicy", policy or "", text)
    strategy = get_mapping(spec, "updateStrategy")
    if strategy.get("type") not in ("OnDelete", ROLLING):
        text = f"must be '{ROLLING}' or 'OnDelete'"
        shown = validators.format_go_strategy(
            strategy, "StatefulSetUpdateStrategy", "RollingUpdateStatefulSetStrategy"
        )
        yield invalid("spec.updateStrategy", shown, text)
    elif strategy.get("type") == "OnDelete" and strategy.get("rollingUpdate") is not None:
        text = "only allowed for updateStrategy 'RollingUpdate'"
        shown = _format_go_rolling(strategy["rollingUpdate"])
        yield invalid("spec.updateStrategy.rollingUpdate", shown, text)
    elif strategy.get("type") == ROLLING:
        partition = get_mapping(strategy, "rollingUpdate").get("partition")
        yield from validators.validate_non_negative(
            "spec.updateStrategy.rollingUpdate.partition", partition
        )
    yield from validators.validate_non_negative("spec.replicas", spec.get("replicas"))
    yield from validators.validate_non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    start = get_mapping(spec, "ordinals").get("start")
    yield from validators.validate_non_negative("spec.ordinals.start", start)
    retention = get_mapping(spec, "persistentVolumeClaimRetentionPolicy")
    for member in ("whenDeleted", "whenScaled"):
        place = f"spec.persistentVolumeClaimRetentionPolicy.{member}"
        yield from validators.validate_enum(place, retention.get(member), ("Retain", "Delete"))
    yield from validate_selector(spec, "spec", "statefulset")
    yield from _validate_template(spec, "spec.template")


def _format_go_rolling(rolling: Object) -> Bare:
    return Bare(
        f"apps.RollingUpdateStatefulSetStrategy{{Partition:{rolling.get('partition') or 0},"
        " MaxUnavailable:(*intstr.IntOrString)(nil)}"
    )


def _drop_unavailable(value: Object, *_: object) -> None:
    """Drop the field of MaxUnavailableStatefulSet if the feature is off."""
    if has_feature("MaxUnavailableStatefulSet"):
        return
    rolling = get_field(value, "spec", "updateStrategy", "rollingUpdate")
    if rolling is not None:
        rolling.pop("maxUnavailable", None)


def _validate_template(spec: Object, path: str) -> Iterator[FieldError]:
    """Check the template; Kubernetes does not validate the containers of stateful sets."""
    template, selector = get_mapping(spec, "template"), spec.get("selector")
    if is_invalid_selector(selector):
        yield invalid("spec.selector", validators.format_go_label_selector(selector), "")
    else:
        yield from validate_template_labels(spec, "spec")
        yield from validate_template_metadata(template, path)
    yield from validate_always_running(template, path, "StatefulSet")


def _validate_new_stateful_set(value: Object, context: Context) -> Iterator[FieldError]:
    name = get_field(value, "spec", "serviceName")
    if not has_feature("StatefulSetsAreChecked"):
        return
    if name:
        for problem in names.check_dns1123_label(name):
            yield invalid("spec.serviceName", name, problem)
    claims = get_items(value, "spec", "volumeClaimTemplates")
    for index, claim in enumerate(claims):
        path = f"spec.volumeClaimTemplates[{index}].spec"
        yield from validate_claim_spec(get_mapping(claim, "spec"), path)
    yield from _validate_pods(get_mapping(value, "spec"))


def _validate_pods(spec: Object) -> Iterator[FieldError]:
    """Check the template with the volumes that its pods get from the claims."""
    pod = {**get_mapping(spec, "template", "spec")}
    for member in ("subdomain", "hostname"):  # the controller sets them
        pod.pop(member, None)
    claimed = [
        each["metadata"].get("name") or ""
        for each in get_items(spec, "volumeClaimTemplates")
        if each.get("metadata")
    ]
    own = [each for each in get_items(pod, "volumes") if each.get("name") not in claimed]
    added = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claimed]
    pod["volumes"] = [*added, *own]
    yield from validate_spec(pod, "spec.template.spec")


def _validate_stateful_set_update(
    value: Object, old: Object, context: Context
) -> Iterator[FieldError]:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    is_changed = get_field(spec, "template", "spec") != get_field(before, "template", "spec")
    if is_changed and has_feature("StatefulSetsAreChecked"):
        yield from _validate_pods(spec)
    mutable = _list_mutable_fields()
    members = (spec.keys() | before.keys()) - set(mutable)
    if any(spec.get(member) != before.get(member) for member in members):
        listed = ", ".join(f"'{name}'" for name in mutable[:-1])
        text = (
            f"updates to statefulset spec for fields other than {listed} and"
            f" '{mutable[-1]}' are forbidden"
        )
        yield forbidden("spec", text)


def _list_mutable_fields() -> tuple[str, ...]:
    if has_feature("RevisionHistoryIsMutable"):
        return (*_MUTABLE_FIELDS[:4], "revisionHistoryLimit", *_MUTABLE_FIELDS[4:])
    return _MUTABLE_FIELDS


def _build_stateful_set_cells(value: Object, now: datetime) -> Sequence[object]:
    containers, images, _ = build_wide_cells(value)
    ready = get_field(value, "status", "readyReplicas") or 0
    wanted = get_field(value, "spec", "replicas") or 0
    return (
        value["metadata"].get("name", ""),
        f"{ready}/{wanted}",
        format_creation_age(value, now),
        containers,
        images,
    )


def _find_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    found = find_template_warnings(value, old, context)
    if context.subresource:
        return found
    return [*found, *find_template_claim_warnings(value, is_new=old is None)]


STATEFUL_SET = Rules(
    validate_status=replica_status.build_status_validator(replica_status.STATEFUL_SET),
    default=_default_stateful_set,
    prepare_create=_drop_unavailable,
    prepare_update=_drop_unavailable,
    validate=_validate_stateful_set,
    validate_new=_validate_new_stateful_set,
    validate_change=_validate_stateful_set_update,
    warn=_find_warnings,
    generation_fields=("spec",),
    scales=True,
    scale_selector=format_scale_selector,
    columns=(
        NAME,
        build_column("Ready", text="Number of the pod with ready state"),
        AGE,
        CONTAINERS,
        IMAGES,
    ),
    cells=_build_stateful_set_cells,
    status_updates_labels=True,
)
