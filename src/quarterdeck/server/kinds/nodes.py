"""Nodes."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.rfc3339 import parse as parse_time
from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    internal,
    invalid,
    quote,
)
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.resource_amounts import validate_amount
from quarterdeck.server.kinds.rules import Rules
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

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")


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
    yield from _validate_taints(get_items(value, "spec", "taints"), "metadata.taints")
    yield from _validate_networks(get_items(value, "spec", "podCIDRs"), "spec.podCIDRs")
    yield from _validate_resources(value)


def _validate_resources(value: Object) -> Iterator[FieldError]:
    for member in ("capacity", "allocatable"):
        for name, amount in sorted(get_mapping(value, "status", member).items()):
            yield from validate_amount(f"status.{member}.{name}", name, amount)


def _validate_networks(texts: Sequence[str], path: str) -> Iterator[FieldError]:
    """Check the networks of pods: at most one of each address family."""
    parsed = [validators.parse_network(text) for text in texts]
    for index, network in enumerate(parsed):
        if network is None:
            yield invalid(f"{path}[{index}]", texts[index], validators.VALID_NETWORK)
    if len(texts) < 2:
        return
    if None in parsed:
        first = parsed.index(None)
        reason = f"invalid CIDR[{first}]: <nil> (invalid CIDR address: {texts[first]})"
        text = f"invalid PodCIDRs. failed to check with dual stack with error:{reason}"
        yield internal(path, text)
    families = {network.version for network in parsed if network is not None}
    if None in parsed or len(families) < 2 or len(texts) > 2:
        text = "may specify no more than one CIDR for each IP family"
        yield invalid(path, validators.format_go_strings(texts), text)
    for index, each in enumerate(texts):
        if each in texts[:index]:
            yield duplicate(f"{path}[{index}]", each)


def _validate_taints(taints: Sequence[Object], path: str) -> Iterator[FieldError]:
    seen: set[tuple[object, object]] = set()
    for index, taint in enumerate(taints):
        place, key = f"{path}[{index}]", taint.get("key") or ""
        for problem in names.check_qualified_name(key):
            yield invalid(f"{place}.key", key, problem)
        if problems := names.check_label_value(taint.get("value") or ""):
            yield invalid(f"{place}.value", taint.get("value"), ";".join(problems))
        yield from validators.validate_required_enum(
            f"{place}.effect", taint.get("effect"), _EFFECTS
        )
        identity = (key, taint.get("effect"))
        if identity in seen:
            yield FieldError(
                type=ErrorType.DUPLICATE,
                field=place,
                value=_format_go_taint(taint),
                detail="taints must be unique by key and effect pair",
            )
        seen.add(identity)


def _format_go_taint(taint: Object) -> Bare:
    texts = (("Key", "key"), ("Value", "value"), ("Effect", "effect"))
    shown = ", ".join(f"{go}:{quote(taint.get(name) or '')}" for go, name in texts)
    added = "<nil>"
    if taint.get("timeAdded"):
        moment = parse_time(taint["timeAdded"])
        added = (
            f"time.Date({moment.year}, time.{moment:%B}, {moment.day}, {moment.hour},"
            f" {moment.minute}, {moment.second}, 0, time.Local)"
        )
    return Bare(f"core.Taint{{{shown}, TimeAdded:{added}}}")


def _validate_node_status(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """Check the resources of a node, and the features that its kubelet declares."""
    yield from _validate_resources(value)
    declared = get_items(value, "status", "declaredFeatures")
    if not has_feature("NodeDeclaredFeatures"):
        return
    for index, name in enumerate(declared):
        path = f"status.declaredFeatures[{index}]"
        if not _FEATURE.fullmatch(name):
            text = (
                f'invalid feature name "{name}": must start with an UpperCamelCase segment, with'
                " subsequent segments separated by '/' (e.g., MyFeature or"
                " MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            )
            yield invalid(path, name, text)
        if index and declared[index - 1] > name:
            yield invalid(path, name, "list must be sorted alphabetically")


def _format_kernel(info: Object) -> str:
    version, machine = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    if machine and has_feature("NewerTablesAndWords"):
        version += f" ({machine})"
    return str(version)


def _validate_node_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    given, was = get_items(spec, "podCIDRs"), get_items(before, "podCIDRs")
    text = 'node updates may not change podCIDR except from "" to valid'
    if was and len(given) != len(was):
        yield forbidden("spec.podCIDRs", text)
    elif was:
        changed = sum(now != then for now, then in zip(given, was, strict=True))
        yield from [forbidden("spec.podCIDRs", text)] * changed
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        text = 'node updates may not change providerID except from "" to valid'
        yield forbidden("spec.providerID", text)
    yield from _validate_taints(get_items(spec, "taints"), "metadata.taints")
    if spec.get("externalID") != before.get("externalID"):
        yield forbidden("spec.externalID", "may not be updated")


def _drop_config(value: Object, *_: object) -> None:
    """Drop the fields of dynamic kubelet configuration, which Kubernetes removed."""
    get_mapping(value, "spec").pop("configSource", None)
    get_mapping(value, STATUS).pop("config", None)


def _find_node_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    if context.subresource or not get_mapping(value, "spec").get("externalID"):
        return ()
    return ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]


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
        _format_kernel(info),
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
    prepare_create=_drop_config,
    prepare_update=_drop_config,
    warn=_find_node_warnings,
    validate=_validate_node,
    validate_change=_validate_node_update,
    validate_status=_validate_node_status,
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
