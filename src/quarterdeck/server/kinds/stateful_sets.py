"""Stateful sets."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, forbidden, invalid
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import at, fill, items, mapping
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.pod_warnings import template_warnings
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.kinds.templates import (
    CONTAINERS,
    IMAGES,
    ROLLING,
    selector_of,
    selector_problems,
    template_problems,
    wide_cells,
)
from quarterdeck.server.registry.printer import AGE, NAME, column, created
from quarterdeck.server.registry.resource import Context, Object

_STATEFUL_CHANGEABLE = (
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
        fill(strategy, rollingUpdate={})
    if strategy["type"] == ROLLING and strategy.get("rollingUpdate") is not None:
        fill(strategy["rollingUpdate"], partition=0)
    fill(spec, persistentVolumeClaimRetentionPolicy={}, replicas=1, revisionHistoryLimit=10)
    for member in ("whenDeleted", "whenScaled"):
        if not spec["persistentVolumeClaimRetentionPolicy"].get(member):
            spec["persistentVolumeClaimRetentionPolicy"][member] = "Retain"
    for claim in items(spec, "volumeClaimTemplates"):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
        claim.setdefault("status", {})
        if not claim["status"].get("phase"):
            claim["status"]["phase"] = "Pending"
        fill(claim.setdefault("spec", {}), volumeMode="Filesystem")


def _stateful_set_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    policies = ("OrderedReady", "Parallel")
    policy = spec.get("podManagementPolicy")
    if policy not in policies:
        text = f"must be '{policies[0]}' or '{policies[1]}'"
        yield invalid("spec.podManagementPolicy", policy or "", text)
    strategy = mapping(spec, "updateStrategy")
    if strategy.get("type") not in ("OnDelete", ROLLING):
        text = f"must be '{ROLLING}' or 'OnDelete'"
        yield invalid("spec.updateStrategy", strategy.get("type") or "", text)
    elif strategy.get("type") == "OnDelete" and strategy.get("rollingUpdate") is not None:
        text = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid("spec.updateStrategy.rollingUpdate", strategy["rollingUpdate"], text)
    elif strategy.get("type") == ROLLING:
        partition = mapping(strategy, "rollingUpdate").get("partition")
        yield from validators.non_negative("spec.updateStrategy.rollingUpdate.partition", partition)
    yield from validators.non_negative("spec.replicas", spec.get("replicas"))
    yield from validators.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from selector_problems(spec, "spec", "statefulset")
    yield from template_problems(spec, "spec")


def _stateful_set_changes(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    spec, before = mapping(value, "spec"), mapping(old, "spec")
    members = (spec.keys() | before.keys()) - set(_STATEFUL_CHANGEABLE)
    if any(spec.get(member) != before.get(member) for member in members):
        listed = ", ".join(f"'{name}'" for name in _STATEFUL_CHANGEABLE[:-1])
        text = (
            f"updates to statefulset spec for fields other than {listed} and"
            f" '{_STATEFUL_CHANGEABLE[-1]}' are forbidden"
        )
        yield forbidden("spec", text)


def _stateful_set_cells(value: Object, now: datetime) -> Sequence[object]:
    names, images, _ = wide_cells(value)
    ready = at(value, "status", "readyReplicas") or 0
    wanted = at(value, "spec", "replicas") or 0
    return (
        value["metadata"].get("name", ""),
        f"{ready}/{wanted}",
        created(value, now),
        names,
        images,
    )


STATEFUL_SET = Rules(
    default=_default_stateful_set,
    validate=_stateful_set_problems,
    validate_change=_stateful_set_changes,
    warn=template_warnings,
    counted=("spec",),
    scales=True,
    scale_selector=selector_of,
    columns=(
        NAME,
        column("Ready", text="Number of the pod with ready state"),
        AGE,
        CONTAINERS,
        IMAGES,
    ),
    cells=_stateful_set_cells,
)
