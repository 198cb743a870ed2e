"""Namespaces, nodes, leases, priority classes and runtime classes."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, forbidden, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.metadata_validation import KNOWN_FINALIZERS
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    build_column,
    build_wide_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import STATUS, Context, Object

# namespaces --------------------------------------------------------------------------------------

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


def _default_namespace(value: Object) -> None:
    if name := value["metadata"].get("name"):
        labels = value["metadata"].setdefault("labels", {})
        labels[NAME_LABEL] = name
    if not get_mapping(value, STATUS).get("phase"):
        value[STATUS] = {**get_mapping(value, STATUS), "phase": "Active"}


def _prepare_namespace(value: Object, context: Context) -> None:
    value[STATUS] = {"phase": "Active"}
    spec = value.setdefault("spec", {})
    finalizers = spec.setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)


def _update_namespace(value: Object, old: Object, context: Context) -> None:
    if context.subresource != "finalize":
        value["spec"] = {**get_mapping(value, "spec")}
        if "finalizers" in get_mapping(old, "spec"):
            value["spec"]["finalizers"] = old["spec"]["finalizers"]


def _end_namespace(value: Object, context: Context) -> bool:
    value[STATUS] = {**get_mapping(value, STATUS), "phase": "Terminating"}
    return bool(get_items(value, "spec", "finalizers"))


def _build_namespace_cells(value: Object, now: datetime) -> Sequence[object]:
    phase = get_field(value, STATUS, "phase") or ""
    return (value["metadata"].get("name", ""), phase, format_creation_age(value, now))


def _validate_namespace(value: Object, context: Context) -> Iterator[FieldError]:
    for finalizer in get_items(value, "spec", "finalizers"):
        problems = names.check_qualified_name(finalizer)
        yield from (invalid("spec.finalizers", finalizer, problem) for problem in problems)
        if not problems and "/" not in finalizer and finalizer not in KNOWN_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid("spec.finalizers", finalizer, text)


NAMESPACE = Rules(
    validate_new=_validate_namespace,
    default=_default_namespace,
    prepare_create=_prepare_namespace,
    prepare_update=_update_namespace,
    name="label",
    status_updates_labels=True,
    selectable={"status.phase": ""},
    columns=(NAME, build_column("Status", text="The status of the namespace"), AGE),
    cells=_build_namespace_cells,
    begin_delete=_end_namespace,
    is_kept=lambda value: bool(get_items(value, "spec", "finalizers")),
)


# nodes -------------------------------------------------------------------------------------------

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _default_node(value: Object) -> None:
    status = value.setdefault(STATUS, {})
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])
    spec = get_mapping(value, "spec")
    if (first := spec.get("podCIDR")) and (spec.get("podCIDRs") or [""])[0] != first:
        spec["podCIDRs"] = [first]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]


def _validate_node(value: Object, context: Context) -> Iterator[FieldError]:
    for index, network in enumerate(get_items(value, "spec", "podCIDRs")):
        if not validators.is_network(network):
            text = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid(f"spec.podCIDRs[{index}]", network, text)
    seen: set[tuple[object, object]] = set()
    for index, taint in enumerate(get_items(value, "spec", "taints")):
        place = f"spec.taints[{index}]"
        if not taint.get("key"):
            yield required(f"{place}.key")
        yield from validators.validate_required_enum(
            f"{place}.effect", taint.get("effect"), _EFFECTS
        )
        identity = (taint.get("key"), taint.get("effect"))
        if identity in seen:
            yield duplicate(place, taint)
        seen.add(identity)


def _validate_node_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    for member in ("podCIDR", "podCIDRs", "providerID"):
        if before.get(member) and spec.get(member) != before.get(member):
            text = f'node updates may not change {member} except from "" to valid'
            yield forbidden(f"spec.{member}", text)


def _format_roles(value: Object) -> str:
    labels = get_mapping(value, "metadata", "labels")
    roles = {key[len(_ROLE_PREFIX) :] for key in labels if key.startswith(_ROLE_PREFIX)} - {""}
    if labels.get(_ROLE_LABEL):
        roles.add(labels[_ROLE_LABEL])
    return ",".join(sorted(roles)) or NONE


def _get_node_address(value: Object, kind: str) -> str:
    for each in get_items(value, STATUS, "addresses"):
        if each.get("type") == kind:
            return str(each.get("address"))
    return NONE


def _build_node_cells(value: Object, now: datetime) -> Sequence[object]:
    ready = next(
        (each for each in get_items(value, STATUS, "conditions") if each.get("type") == "Ready"),
        None,
    )
    states = [
        "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    ]
    if get_field(value, "spec", "unschedulable"):
        states.append("SchedulingDisabled")
    info = get_mapping(value, STATUS, "nodeInfo")
    return (
        value["metadata"].get("name", ""),
        ",".join(states),
        _format_roles(value),
        format_creation_age(value, now),
        info.get("kubeletVersion") or "",
        _get_node_address(value, "InternalIP"),
        _get_node_address(value, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    )


_ADDRESSES_TEXT = (
    "List of addresses reachable to the node. Queried from cloud provider, if available. More info:"
    " https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared"
    " as mergeable, but the merge key is not sufficiently unique, which can cause data corruption"
    " when it is merged. Callers should instead use a full-replacement patch. See"
    " https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change"
    " during the lifetime of a Node. However, there are some exceptions where this may not be"
    " possible, such as Pods that inherit a Node's address in its own status or consumers of the"
    " downward API (status.hostIP)."
)

NODE = Rules(
    default=_default_node,
    validate=_validate_node,
    validate_change=_validate_node_update,
    keeps_status_on_create=True,
    status_updates_labels=True,
    selectable={"spec.unschedulable": "false"},
    columns=(
        NAME,
        build_column("Status", text="The status of the node"),
        build_column("Roles", text="The roles of the node"),
        AGE,
        build_column("Version", text="Kubelet Version reported by the node."),
        build_wide_column("Internal-IP", text=_ADDRESSES_TEXT),
        build_wide_column("External-IP", text=_ADDRESSES_TEXT),
        build_wide_column(
            "OS-Image",
            text=(
                "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7"
                " (wheezy))."
            ),
        ),
        build_wide_column(
            "Kernel-Version",
            text="Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).",
        ),
        build_wide_column(
            "Container-Runtime",
            text=(
                "ContainerRuntime Version reported by the node through runtime remote API (e.g."
                " containerd://1.4.2)."
            ),
        ),
    ),
    cells=_build_node_cells,
)


# leases, priorities ------------------------------------------------------------------------------


def _validate_lease(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, validators.NON_NEGATIVE)


def _build_lease_cells(value: Object, now: datetime) -> Sequence[object]:
    holder = get_field(value, "spec", "holderIdentity") or ""
    return (value["metadata"].get("name", ""), holder, format_creation_age(value, now))


def _drop_strategy(value: Object, *_: object) -> None:
    """Drop what belongs to a feature of Kubernetes 1.32 that is off."""
    for member in ("strategy", "preferredHolder"):
        get_mapping(value, "spec").pop(member, None)


LEASE = Rules(
    prepare_create=_drop_strategy,
    prepare_update=_drop_strategy,
    validate=_validate_lease,
    allows_unconditional_update=False,
    allows_create_on_update=True,
    columns=(NAME, build_column("Holder"), AGE),
    cells=_build_lease_cells,
)

_HIGHEST_PRIORITY = 1_000_000_000


def _default_priority(value: Object) -> None:
    set_defaults(value, preemptionPolicy="PreemptLowerPriority")


def _validate_priority(value: Object, context: Context) -> Iterator[FieldError]:
    name, number = value["metadata"].get("name") or "", value.get("value") or 0
    if name.startswith("system-") and name not in (
        "system-cluster-critical",
        "system-node-critical",
    ):
        text = (
            "priority class names with 'system-' prefix are reserved for system use only. error:"
            f" {name} is not a known system priority class"
        )
        yield forbidden("metadata.name", text)
    elif not name.startswith("system-") and number > _HIGHEST_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        yield forbidden("value", text)


def _validate_priority_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    if value.get("value") != old.get("value"):
        yield forbidden("value", "may not be changed in an update.")
    yield from validators.validate_immutable(
        "preemptionPolicy", value.get("preemptionPolicy"), old.get("preemptionPolicy")
    )


def _build_priority_cells(value: Object, now: datetime) -> Sequence[object]:
    return (
        value["metadata"].get("name", ""),
        value.get("value") or 0,
        bool(value.get("globalDefault")),
        format_creation_age(value, now),
        value.get("preemptionPolicy") or "",
    )


PRIORITY_CLASS = Rules(
    default=_default_priority,
    validate=_validate_priority,
    validate_change=_validate_priority_update,
    keeps_generation=True,
    columns=(
        NAME,
        build_column("Value", "integer"),
        build_column("Global-Default", "boolean"),
        AGE,
        build_column("PreemptionPolicy"),
    ),
    cells=_build_priority_cells,
)


# runtime classes --------------------------------------------------------------------------------


def _build_runtime_class_cells(value: Object, now: datetime) -> Sequence[object]:
    return (
        value["metadata"].get("name", ""),
        value.get("handler") or "",
        format_creation_age(value, now),
    )


RUNTIME_CLASS = Rules(
    allows_unconditional_update=False,
    allows_create_on_update=True,
    columns=(NAME, build_column("Handler"), AGE),
    cells=_build_runtime_class_cells,
)
