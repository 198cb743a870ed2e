"""Containers of a pod: regular ones, init containers and ephemeral ones."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.meta import names
from quarterdeck.meta.field import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import pod_features, validators
from quarterdeck.server.kinds.environment_validation import validate_environment
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.kinds.handler_validation import PROBES, validate_hooks
from quarterdeck.server.kinds.mount_validation import validate_devices, validate_mounts
from quarterdeck.server.kinds.pod_security_validation import validate_container_context
from quarterdeck.server.kinds.resource_names import validate_container_resource_name
from quarterdeck.server.registry.resource import Object

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_NOT_EPHEMERAL = (*("ports", "lifecycle", *PROBES, "resources", "resizePolicy", "restartPolicy"),)
"""What ephemeral containers cannot have."""


def validate_containers(
    spec: Object, path: str, volumes: Mapping[str, Object]
) -> Iterator[FieldError]:
    """Check all containers of a pod spec."""
    grace = spec.get("terminationGracePeriodSeconds")
    containers = get_items(spec, "containers")
    if not containers:
        yield required(f"{path}.containers")
    seen: set[str] = set()
    for index, container in enumerate(containers):
        place = f"{path}.containers[{index}]"
        yield from _validate_container(container, place, volumes, seen)
        yield from validate_hooks(container, place, grace)
        if has_feature("ContainerRestartRules"):
            yield from pod_features.validate_restart(container, place, is_init=False)
        elif container.get("restartPolicy") is not None:
            yield forbidden(f"{place}.restartPolicy", "may not be set for non-init containers")
        yield from _validate_features(container, place, spec)
    yield from _validate_host_ports(containers, f"{path}.containers")
    if spec.get("initContainers"):
        yield from _validate_init_containers(spec, path, volumes, seen)
    if spec.get("ephemeralContainers"):
        yield from _validate_ephemeral_containers(spec, path, volumes, seen)


def validate_image_spaces(spec: Object, path: str) -> Iterator[FieldError]:
    """Check images for white space; Kubernetes does so for pods, not for templates."""
    for member in ("containers", "initContainers"):
        for index, container in enumerate(get_items(spec, member)):
            yield from _validate_image_spaces(container, f"{path}.{member}[{index}]")


def _validate_image_spaces(container: Object, path: str) -> Iterator[FieldError]:
    image = container.get("image") or ""
    if image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _validate_init_containers(
    spec: Object, path: str, volumes: Mapping[str, Object], seen: set[str]
) -> Iterator[FieldError]:
    for index, container in enumerate(get_items(spec, "initContainers")):
        place, policy = f"{path}.initContainers[{index}]", container.get("restartPolicy")
        yield from _validate_container(container, place, volumes, seen)
        yield from _validate_host_ports([container], f"{path}.initContainers")
        if has_feature("ContainerRestartRules"):
            yield from pod_features.validate_restart(container, place, is_init=True)
        elif policy is not None and policy != "Always":
            yield not_supported(f"{place}.restartPolicy", policy, ("Always",))
        yield from _validate_features(container, place, spec)
        if policy == "Always":
            grace = spec.get("terminationGracePeriodSeconds")
            yield from validate_hooks(container, place, grace)
            continue
        for member in ("lifecycle", *PROBES):
            if container.get(member) is not None:
                text = "may not be set for init containers without restartPolicy=Always"
                yield forbidden(f"{place}.{member}", text)
        if has_feature("InPlacePodVerticalScalingInitContainers"):
            yield from pod_features.validate_init_resize_policy(container, place)


def _validate_features(container: Object, path: str, spec: Object) -> Iterator[FieldError]:
    """Check members of containers that only newer releases have."""
    if has_feature("DynamicResourceAllocation"):
        claims = pod_features.get_claim_names(spec)
        yield from pod_features.validate_claims(container, path, claims)
    if has_feature("ProcMountType"):
        yield from pod_features.validate_proc_mount(container, path, spec)
    if has_feature("InPlacePodVerticalScaling"):
        policy = spec.get("restartPolicy") or ""
        yield from pod_features.validate_resize_policy(container, path, policy)


def _validate_ephemeral_containers(
    spec: Object, path: str, volumes: Mapping[str, Object], seen: set[str]
) -> Iterator[FieldError]:
    others = frozenset(seen)
    for index, container in enumerate(get_items(spec, "ephemeralContainers")):
        place = f"{path}.ephemeralContainers[{index}]"
        yield from _validate_container(container, place, volumes, seen)
        yield from _validate_image_spaces(container, place)
        target = container.get("targetContainerName")
        if target and target not in others:
            yield not_found(f"{place}.targetContainerName", target)
        text = "cannot be set for an Ephemeral Container"
        for member in _NOT_EPHEMERAL:
            if container.get(member):
                yield forbidden(f"{place}.{member}", text)
        for at, mount in enumerate(get_items(container, "volumeMounts")):
            for member in ("subPath", "subPathExpr"):
                if mount.get(member):
                    yield forbidden(f"{place}.volumeMounts[{at}].{member}", text)


def _validate_container(
    container: Object, path: str, volumes: Mapping[str, Object], seen: set[str]
) -> Iterator[FieldError]:
    """Check what all containers have in common."""
    name = container.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    else:
        for problem in names.check_dns1123_label(name):
            yield invalid(f"{path}.name", name, problem)
    if name in seen:
        yield duplicate(f"{path}.name", name)
    seen.add(name)
    if not container.get("image"):
        yield required(f"{path}.image")
    for member, choices in (
        ("terminationMessagePolicy", _MESSAGE_POLICIES),
        ("imagePullPolicy", _PULL_POLICIES),
    ):
        policy = container.get(member)
        yield from validators.validate_required_enum(f"{path}.{member}", policy, choices)
    if ports := container.get("ports"):
        yield from _validate_ports(ports, f"{path}.ports")
    if container.get("env") or container.get("envFrom"):
        yield from validate_environment(container, path)
    if container.get("volumeMounts"):
        yield from validate_mounts(container, path, volumes)
    if container.get("volumeDevices"):
        yield from validate_devices(container, path, volumes)
    if resources := container.get("resources"):
        yield from validate_resources(resources, f"{path}.resources")
    if context := container.get("securityContext"):
        yield from validate_container_context(context, f"{path}.securityContext")


def _validate_ports(ports: Sequence[Any], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        place = f"{path}[{index}]"
        if name := port.get("name"):
            problems = validators.validate_port_name(name)
            for problem in problems:
                yield invalid(f"{place}.name", name, problem)
            if not problems and name in seen:
                yield duplicate(f"{place}.name", name)
            seen.add(name)
        if not port.get("containerPort"):
            yield required(f"{place}.containerPort")
        else:
            yield from validators.validate_port(f"{place}.containerPort", port["containerPort"])
        if port.get("hostPort"):
            yield from validators.validate_port(f"{place}.hostPort", port["hostPort"])
        yield from validators.validate_required_enum(
            f"{place}.protocol", port.get("protocol"), _PROTOCOLS
        )


def _validate_host_ports(containers: Sequence[Any], path: str) -> Iterator[FieldError]:
    """Check that no two containers use the same host port."""
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for at, port in enumerate(get_items(container, "ports")):
            if not port.get("hostPort"):
                continue
            identity = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if identity in seen:
                yield duplicate(f"{path}[{index}].ports[{at}].hostPort", identity)
            seen.add(identity)


# resources ---------------------------------------------------------------------------------------


def validate_resources(
    resources: Object,
    path: str,
    *,
    check: Callable[[str, str], Iterable[FieldError]] = validate_container_resource_name,
) -> Iterator[FieldError]:
    """Check limits and requests: known names, valid amounts, requests within limits."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for member, amounts in (("limits", limits), ("requests", requests)):
        for name in sorted(amounts):
            place = f"{path}.{member}[{name}]"
            yield from check(place, name)
            yield from validators.validate_quantity(place, amounts[name])
            if member == "requests":
                yield from _validate_request(amounts[name], limits.get(name), path, name)


def _validate_request(amount: Any, limit: Any, path: str, name: str) -> Iterator[FieldError]:
    if limit is None:
        if not _may_overcommit(name):
            text = "Limit must be set for non overcommitable resources"
            yield required(f"{path}.limits", text)
        return
    try:
        asked, most = Quantity.parse(str(amount)), Quantity.parse(str(limit))
    except QuantityError:
        return  # reported where the amounts are validated
    if asked != most and not _may_overcommit(name):
        text = f"must be equal to {name} limit of {limit}"
        yield invalid(f"{path}.requests", str(amount), text)
    elif asked > most:
        text = f"must be less than or equal to {name} limit of {limit}"
        yield invalid(f"{path}.requests", str(amount), text)


def _may_overcommit(name: str) -> bool:
    """Whether requests may be below limits: only of native resources, not of huge pages."""
    domain, slash, _ = name.partition("/")
    is_native = not slash or domain.endswith("kubernetes.io")
    return is_native and not name.startswith("hugepages-")
