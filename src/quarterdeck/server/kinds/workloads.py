"""Deployments, replica sets, stateful sets, daemon sets, replication controllers."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.server.kinds import checks
from quarterdeck.server.kinds.cells import AGE, NAME, NONE, column, created, wide
from quarterdeck.server.kinds.paths import at, fill, items, mapping
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.pod_rules import spec_problems
from quarterdeck.server.kinds.pod_warnings import template_warnings
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.meta_validation.metadata import check_labels
from quarterdeck.server.registry.resource import Column, Context, Object

_ROLLING = "RollingUpdate"
_CONTAINERS = wide("Containers", text="Names of each container in the template.")
_IMAGES = wide("Images", text="Images referenced by each container in the template.")


# shared ------------------------------------------------------------------------------------------


def template_problems(
    spec: Object, path: str, *, policies: Sequence[str] = ("Always",)
) -> Iterator[FieldError]:
    """A template whose labels the selector must select."""
    selector, template = spec.get("selector"), mapping(spec, "template")
    labels = mapping(template, "metadata", "labels")
    if _says_something(selector) and not checks.selector_matches(selector or {}, labels):
        text = "`selector` does not match template `labels`"
        yield invalid(f"{path}.template.metadata.labels", checks.go_string_map(labels), text)
    yield from pod_template_problems(template, f"{path}.template")
    policy = at(template, "spec", "restartPolicy")
    if policy and policy not in policies:
        yield not_supported(f"{path}.template.spec.restartPolicy", policy, policies)
    if at(template, "spec", "activeDeadlineSeconds") is not None:
        text = "activeDeadlineSeconds in ReplicaSet is not Supported"
        yield forbidden(f"{path}.template.spec.activeDeadlineSeconds", text)


def pod_template_problems(template: Object, path: str) -> Iterator[FieldError]:
    """Labels and spec of a template."""
    labels = mapping(template, "metadata", "labels")
    yield from check_labels(labels, f"{path}.labels")
    yield from spec_problems(mapping(template, "spec"), f"{path}.spec")


def _says_something(selector: Object | None) -> bool:
    return bool(selector and (selector.get("matchLabels") or selector.get("matchExpressions")))


def _selector_problems(spec: Object, path: str, kind: str) -> Iterator[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        yield required(f"{path}.selector")
        return
    yield from checks.label_selector(f"{path}.selector", selector)
    if not _says_something(selector):
        text = f"empty selector is invalid for {kind}"
        yield invalid(f"{path}.selector", checks.go_label_selector(selector), text)


def _immutable_selector(value: Object, old: Object) -> Iterator[FieldError]:
    selector, before = at(value, "spec", "selector"), at(old, "spec", "selector")
    if selector != before:
        yield invalid("spec.selector", checks.go_label_selector(selector), checks.IMMUTABLE)


def container_cells(spec: Object) -> tuple[str, str]:
    """Names and images of the containers of a pod spec."""
    containers = items(spec, "containers")
    names = ",".join(each.get("name") or "" for each in containers)
    return names, ",".join(each.get("image") or "" for each in containers)


def shown_selector(selector: Object | None) -> str:
    """A selector in a table; one that says nothing is `<none>`."""
    return checks.selector_text(selector) or NONE


def _wide_cells(value: Object) -> tuple[str, str, str]:
    names, images = container_cells(mapping(value, "spec", "template", "spec"))
    return names, images, shown_selector(at(value, "spec", "selector"))


def _selector_of(value: Object) -> str:
    return checks.selector_text(at(value, "spec", "selector"))


# deployments -------------------------------------------------------------------------------------


def _default_deployment(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = _ROLLING
    if strategy["type"] == _ROLLING:
        fill(strategy, rollingUpdate={})
        fill(strategy["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")


def _deployment_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    yield from checks.non_negative("spec.replicas", spec.get("replicas"))
    yield from _selector_problems(spec, "spec", "deployment")
    yield from template_problems(spec, "spec")
    yield from _strategy_problems(mapping(spec, "strategy"), "spec.strategy")
    yield from checks.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from checks.non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    yield from checks.non_negative("spec.progressDeadlineSeconds", deadline)
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        yield invalid("spec.progressDeadlineSeconds", deadline, text)


def _strategy_problems(strategy: Object, path: str) -> Iterator[FieldError]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                text = "may not be specified when strategy `type` is 'Recreate'"
                yield forbidden(f"{path}.rollingUpdate", text)
        case "RollingUpdate":
            if rolling is None:
                text = "this should be defaulted and never be nil"
                yield required(f"{path}.rollingUpdate", text)
            else:
                yield from _rolling_problems(rolling, f"{path}.rollingUpdate")
        case other:
            yield not_supported(f"{path}.type", other or "", ("Recreate", _ROLLING))


def _rolling_problems(rolling: Object, path: str) -> Iterator[FieldError]:
    down, up = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    yield from checks.percent_or_number(f"{path}.maxUnavailable", down)
    yield from checks.percent_or_number(f"{path}.maxSurge", up)
    if _is_zero(down) and _is_zero(up):
        text = "may not be 0 when `maxSurge` is 0"
        yield invalid(f"{path}.maxUnavailable", down, text)
    if (checks.percent_of(down) or 0) > 100:
        yield invalid(f"{path}.maxUnavailable", down, "must not be greater than 100%")


def _is_zero(value: Any) -> bool:
    return value in (0, "0%")


def _deployment_cells(value: Object, now: datetime) -> Sequence[object]:
    status = mapping(value, "status")
    return (
        value["metadata"].get("name", ""),
        f"{status.get('readyReplicas') or 0}/{at(value, 'spec', 'replicas') or 0}",
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        created(value, now),
        *_wide_cells(value),
    )


DEPLOYMENT = Rules(
    default=_default_deployment,
    validate=_deployment_problems,
    validate_change=lambda value, old, context: _immutable_selector(value, old),
    warn=template_warnings,
    counted=("spec",),
    scales=True,
    scale_selector=_selector_of,
    columns=(
        NAME,
        column("Ready", text="Number of the pod with ready state"),
        column(
            "Up-to-date",
            text=(
                "Total number of non-terminated pods targeted by this deployment that have the"
                " desired template spec."
            ),
        ),
        column(
            "Available",
            text=(
                "Total number of available pods (ready for at least minReadySeconds) targeted by"
                " this deployment."
            ),
        ),
        AGE,
        _CONTAINERS,
        _IMAGES,
        wide(
            "Selector",
            text=(
                "Label selector for pods. Existing ReplicaSets whose pods are selected by this will"
                " be the ones affected by this deployment."
            ),
        ),
    ),
    cells=_deployment_cells,
)


# replica sets and replication controllers ---------------------------------------------------------


def _default_replicas(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    fill(spec, replicas=1)


def _replica_set_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    yield from checks.non_negative("spec.replicas", spec.get("replicas"))
    yield from checks.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from _selector_problems(spec, "spec", "replicaset")
    yield from template_problems(spec, "spec")


def _replica_cells(value: Object, now: datetime) -> Sequence[object]:
    status = mapping(value, "status")
    return (
        value["metadata"].get("name", ""),
        at(value, "spec", "replicas") or 0,
        status.get("replicas") or 0,
        status.get("readyReplicas") or 0,
        created(value, now),
        *_wide_cells(value),
    )


_REPLICA_COLUMNS: tuple[Column, ...] = (
    NAME,
    column("Desired", "integer", text="The number of replicas that are wanted."),
    column("Current", "integer", text="The number of replicas that were observed."),
    column("Ready", "integer", text="The number of replicas that are ready."),
    AGE,
    _CONTAINERS,
    _IMAGES,
    wide("Selector", text="Which pods are counted."),
)

REPLICA_SET = Rules(
    default=_default_replicas,
    validate=_replica_set_problems,
    validate_change=lambda value, old, context: _immutable_selector(value, old),
    warn=template_warnings,
    counted=("spec",),
    scales=True,
    scale_selector=_selector_of,
    selectable={"status.replicas": "0"},
    columns=_REPLICA_COLUMNS,
    cells=_replica_cells,
)


def _default_controller(value: Object) -> None:
    _default_replicas(value)
    spec = value["spec"]
    labels = mapping(spec, "template", "metadata", "labels")
    if not spec.get("selector") and labels:
        spec["selector"] = dict(labels)
    if not value["metadata"].get("labels") and labels:
        value["metadata"]["labels"] = dict(labels)


def _controller_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    yield from checks.non_negative("spec.replicas", spec.get("replicas"))
    selector = spec.get("selector")
    if not selector:
        yield required("spec.selector")
    labels = mapping(spec, "template", "metadata", "labels")
    if selector and any(labels.get(key) != each for key, each in selector.items()):
        text = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", checks.go_string_map(labels), text)
    yield from pod_template_problems(mapping(spec, "template"), "spec.template")


def _controller_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = mapping(value, "spec")
    selector = {"matchLabels": spec.get("selector")}
    return _replica_cells({**value, "spec": {**spec, "selector": selector}}, now)


REPLICATION_CONTROLLER = Rules(
    default=_default_controller,
    validate=_controller_problems,
    counted=("spec",),
    scales=True,
    scale_selector=lambda value: checks.selector_text(
        {"matchLabels": at(value, "spec", "selector")}
    ),
    selectable={"status.replicas": "0"},
    columns=_REPLICA_COLUMNS,
    cells=_controller_cells,
)


# stateful sets -----------------------------------------------------------------------------------

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
        strategy["type"] = _ROLLING
        fill(strategy, rollingUpdate={})
    if strategy["type"] == _ROLLING and strategy.get("rollingUpdate") is not None:
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
    if strategy.get("type") not in ("OnDelete", _ROLLING):
        text = f"must be '{_ROLLING}' or 'OnDelete'"
        yield invalid("spec.updateStrategy", strategy.get("type") or "", text)
    elif strategy.get("type") == "OnDelete" and strategy.get("rollingUpdate") is not None:
        text = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid("spec.updateStrategy.rollingUpdate", strategy["rollingUpdate"], text)
    yield from checks.non_negative("spec.replicas", spec.get("replicas"))
    yield from checks.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from _selector_problems(spec, "spec", "statefulset")
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
    names, images, _ = _wide_cells(value)
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
    scale_selector=_selector_of,
    columns=(
        NAME,
        column("Ready", text="Number of the pod with ready state"),
        AGE,
        _CONTAINERS,
        _IMAGES,
    ),
    cells=_stateful_set_cells,
)


# daemon sets -------------------------------------------------------------------------------------

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _default_daemon_set(value: Object) -> None:
    spec = value.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = _ROLLING
    if strategy["type"] == _ROLLING:
        fill(strategy, rollingUpdate={})
        fill(strategy["rollingUpdate"], maxUnavailable=1, maxSurge=0)
    fill(spec, revisionHistoryLimit=10)
    annotations = value["metadata"].get("annotations") or {}
    # the count itself is the server's business; whoever writes the object owns the annotation
    value["metadata"]["annotations"] = {_TEMPLATE_GENERATION: "0", **annotations}


def _count_template(value: Object, generation: int) -> None:
    annotations = value["metadata"].setdefault("annotations", {})
    annotations[_TEMPLATE_GENERATION] = str(generation)


def _daemon_set_update(value: Object, old: Object, context: Context) -> None:
    if context.subresource:
        return
    before = mapping(old, "metadata", "annotations").get(_TEMPLATE_GENERATION, "0")
    generation = int(before) if before.isdigit() else 0
    changed = at(value, "spec", "template") != at(old, "spec", "template")
    _count_template(value, generation + changed)


def _daemon_set_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    yield from _selector_problems(spec, "spec", "daemonset")
    yield from template_problems(spec, "spec")
    strategy = mapping(spec, "updateStrategy")
    if strategy.get("type") not in ("OnDelete", _ROLLING):
        choices = ("RollingUpdate", "OnDelete")
        yield not_supported("spec.updateStrategy.type", strategy.get("type") or "", choices)
    yield from checks.non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from checks.non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _daemon_set_cells(value: Object, now: datetime) -> Sequence[object]:
    status = mapping(value, "status")
    numbers = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    nodes = mapping(value, "spec", "template", "spec", "nodeSelector")
    return (
        value["metadata"].get("name", ""),
        *(status.get(member) or 0 for member in numbers),
        shown_selector({"matchLabels": nodes}),
        created(value, now),
        *_wide_cells(value),
    )


def _integer(name: str) -> Column:
    return column(name, "integer")


DAEMON_SET = Rules(
    default=_default_daemon_set,
    prepare_create=lambda value, context: _count_template(value, 1),
    prepare_update=_daemon_set_update,
    validate=_daemon_set_problems,
    validate_change=lambda value, old, context: _immutable_selector(value, old),
    warn=template_warnings,
    counted=("spec",),
    columns=(
        NAME,
        *map(_integer, ("Desired", "Current", "Ready", "Up-to-date", "Available")),
        column("Node Selector"),
        AGE,
        _CONTAINERS,
        _IMAGES,
        wide("Selector"),
    ),
    cells=_daemon_set_cells,
)


def _revision_cells(value: Object, now: datetime) -> Sequence[object]:
    owner = next(
        (each for each in items(value, "metadata", "ownerReferences") if each.get("controller")),
        None,
    )
    group = (owner or {}).get("apiVersion", "").rpartition("/")[0]
    kind = (owner or {}).get("kind", "").lower()
    shown = f"{kind}{'.' + group if group else ''}/{owner['name']}" if owner else NONE
    return (
        value["metadata"].get("name", ""),
        shown,
        value.get("revision") or 0,
        created(value, now),
    )


CONTROLLER_REVISION = Rules(
    columns=(NAME, column("Controller"), column("Revision"), AGE),
    cells=_revision_cells,
)
