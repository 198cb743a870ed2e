"""What a pod's spec must be like: containers, volumes, and how the pod runs.

Used for pods and for templates; the path says where the spec stands. Not every rule of Kubernetes
is here, but those that manifests written by hand break.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.metadata_validation import validate_labels
from quarterdeck.server.registry.resource import Object

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_VALUE_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LARGEST = 2**31 - 1


def validate_spec(
    spec: Object, path: str, *, other_volumes: Iterable[str] = ()
) -> Iterator[FieldError]:
    """Check a pod spec; `path` is the field it is in.

    `other_volumes` are volumes that the owner of a template adds to its pods.
    """
    volumes = get_items(spec, "volumes")
    known = {*(volume.get("name") for volume in volumes), *other_volumes}
    yield from _validate_volume(volumes, f"{path}.volumes")
    yield from _validate_containers(spec, path, known)
    yield from _validate_init(spec, path, known)
    yield from validators.validate_required_enum(
        f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES
    )
    yield from validators.validate_required_enum(
        f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES
    )
    yield from validate_labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from _validate_name(spec, path)
    yield from _validate_deadline(spec, path)
    yield from _validate_toleration(get_items(spec, "tolerations"), f"{path}.tolerations")
    yield from _validate_alias(get_items(spec, "hostAliases"), f"{path}.hostAliases")
    spread = get_items(spec, "topologySpreadConstraints")
    yield from _validate_spread(spread, f"{path}.topologySpreadConstraints")


# containers --------------------------------------------------------------------------------------


def _validate_containers(spec: Object, path: str, volumes: set[Any]) -> Iterator[FieldError]:
    containers = get_items(spec, "containers")
    if not containers:
        yield required(f"{path}.containers")
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        place = f"{path}.containers[{index}]"
        yield from _validate_identity(container, place, seen)
        yield from _validate_container(container, place, volumes)
        for member in ("livenessProbe", "readinessProbe", "startupProbe"):
            yield from _validate_probe(container.get(member), f"{place}.{member}", member)


def _validate_init(spec: Object, path: str, volumes: set[Any]) -> Iterator[FieldError]:
    seen = {container.get("name") for container in get_items(spec, "containers")}
    for index, container in enumerate(get_items(spec, "initContainers")):
        place = f"{path}.initContainers[{index}]"
        yield from _validate_identity(container, place, seen)
        yield from _validate_container(container, place, volumes)
        if container.get("restartPolicy") == "Always":
            continue
        for member in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(member) is not None:
                text = "may not be set for init containers without restartPolicy=Always"
                yield forbidden(f"{place}.{member}", text)


def _validate_identity(container: Object, path: str, seen: set[Any]) -> Iterator[FieldError]:
    name, image = container.get("name") or "", container.get("image") or ""
    if not name:
        yield required(f"{path}.name")
    else:
        for problem in names.check_dns1123_label(name):
            yield invalid(f"{path}.name", name, problem)
    if name and name in seen:
        yield duplicate(f"{path}.name", name)
    seen.add(name)
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        text = "must not have leading or trailing whitespace"
        yield invalid(f"{path}.image", image, text)


def _validate_container(container: Object, path: str, volumes: set[Any]) -> Iterator[FieldError]:
    policy = container.get("imagePullPolicy")
    yield from validators.validate_required_enum(f"{path}.imagePullPolicy", policy, _PULL_POLICIES)
    yield from _validate_port(get_items(container, "ports"), f"{path}.ports")
    yield from _validate_env(get_items(container, "env"), f"{path}.env")
    for index, source in enumerate(get_items(container, "envFrom")):
        if source.get("configMapRef") is None and source.get("secretRef") is None:
            text = "must specify one of: `configMapRef` or `secretRef`"
            yield invalid(f"{path}.envFrom[{index}]", "", text)
    mounts = get_items(container, "volumeMounts")
    yield from _mount_problems(mounts, f"{path}.volumeMounts", volumes)
    yield from validate_resources(container.get("resources") or {}, f"{path}.resources")


def _validate_port(ports: Sequence[Any], path: str) -> Iterator[FieldError]:
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


def _validate_env(variables: Sequence[Any], path: str) -> Iterator[FieldError]:
    for index, variable in enumerate(variables):
        place, name = f"{path}[{index}]", variable.get("name") or ""
        if not name:
            yield required(f"{place}.name")
        elif any(not " " <= letter <= "~" or letter == "=" for letter in name):
            text = (
                "a valid environment variable name must consist only of printable ASCII characters"
                " other than '='"
            )
            yield invalid(f"{place}.name", name, text)
        if (source := variable.get("valueFrom")) is not None:
            given = [member for member in _VALUE_SOURCES if source.get(member) is not None]
            if not given:
                text = (
                    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or"
                    " `secretKeyRef`"
                )
                yield invalid(f"{place}.valueFrom", "", text)
            elif variable.get("value"):
                text = "may not be specified when `value` is not empty"
                yield invalid(f"{place}.valueFrom", "", text)
            elif len(given) > 1:
                text = "may not have more than one field specified at a time"
                yield invalid(f"{place}.valueFrom", "", text)


def _mount_problems(mounts: Sequence[Any], path: str, volumes: set[Any]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        place, name = f"{path}[{index}]", mount.get("name") or ""
        if not name:
            yield required(f"{place}.name")
        elif name not in volumes:
            yield not_found(f"{place}.name", name)
        where = mount.get("mountPath") or ""
        if not where:
            yield required(f"{place}.mountPath")
        elif where in seen:
            yield invalid(f"{place}.mountPath", where, "must be unique")
        seen.add(where)


def validate_resources(resources: Object, path: str) -> Iterator[FieldError]:
    """Limits and requests: known names, sane amounts, requests within limits."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for member, amounts in (("limits", limits), ("requests", requests)):
        for name in sorted(amounts):
            place = f"{path}.{member}[{name}]"
            yield from _validate_resource_name(name, place)
            yield from validators.validate_quantity(place, amounts[name])
            if member == "requests" and name in limits:
                yield from _validate_limit(amounts[name], limits[name], f"{path}.{member}", name)


def _validate_limit(amount: Any, limit: Any, path: str, name: str) -> Iterator[FieldError]:
    try:
        if Quantity.parse(str(amount)) > Quantity.parse(str(limit)):
            text = f"must be less than or equal to {name} limit of {limit}"
            yield invalid(path, str(amount), text)
    except QuantityError:
        return  # reported where the amounts are looked at


def _validate_resource_name(name: str, path: str) -> Iterator[FieldError]:
    if problems := names.check_qualified_name(name):
        yield from (invalid(path, Bare(name), problem) for problem in problems)
    elif "/" not in name and name not in _NATIVE and not name.startswith("hugepages-"):
        text = "must be a standard resource type or fully qualified"
        yield invalid(path, Bare(name), text)
        yield invalid(path, Bare(name), "must be a standard resource for containers")


def _validate_probe(
    probe: Mapping[str, Any] | None, path: str, member: str
) -> Iterator[FieldError]:
    if probe is None:
        return
    handlers = [each for each in ("exec", "httpGet", "tcpSocket", "grpc") if probe.get(each)]
    if not handlers:
        yield required(path, "must specify a handler type")
    elif len(handlers) > 1:
        text = "may not specify more than 1 handler type"
        yield forbidden(f"{path}.{handlers[1]}", text)
    if "httpGet" in handlers:
        yield from validators.validate_port_or_name(
            f"{path}.httpGet.port", probe["httpGet"].get("port")
        )
    for number in (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ):
        yield from validators.validate_non_negative(f"{path}.{number}", probe.get(number))
    if member != "readinessProbe" and probe.get("successThreshold") not in (None, 1):
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


# the pod as a whole ------------------------------------------------------------------------------


def _validate_volume(volumes: Sequence[Any], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        place, name = f"{path}[{index}]", volume.get("name") or ""
        sources = [
            member for member, value in volume.items() if member != "name" and value is not None
        ]
        if len(sources) > 1:
            text = "may not specify more than 1 volume type"
            yield forbidden(f"{place}.{sources[1]}", text)
        yield from _validate_source(volume, place)
        if not name:
            yield required(f"{place}.name")
        else:
            for problem in names.check_dns1123_label(name):
                yield invalid(f"{place}.name", name, problem)
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)


def _validate_source(volume: Object, place: str) -> Iterator[FieldError]:
    for member, key in (
        ("configMap", "name"),
        ("secret", "secretName"),
        ("persistentVolumeClaim", "claimName"),
        ("hostPath", "path"),
    ):
        source = volume.get(member)
        if source is not None and not source.get(key):
            yield required(f"{place}.{member}.{key}")


def _validate_name(spec: Object, path: str) -> Iterator[FieldError]:
    rules: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
        ("serviceAccountName", names.check_dns1123_subdomain),
        ("nodeName", names.check_dns1123_subdomain),
        ("hostname", names.check_dns1123_label),
        ("subdomain", names.check_dns1123_label),
        ("priorityClassName", names.check_dns1123_subdomain),
    )
    for member, rule in rules:
        if text := spec.get(member):
            for problem in rule(text):
                yield invalid(f"{path}.{member}", text, problem)


def _validate_deadline(spec: Object, path: str) -> Iterator[FieldError]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LARGEST:
        text = f"must be between 1 and {_LARGEST}, inclusive"
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, text)


def _validate_toleration(tolerations: Sequence[Any], path: str) -> Iterator[FieldError]:
    for index, each in enumerate(tolerations):
        place, key = f"{path}[{index}]", each.get("key") or ""
        operator = each.get("operator") or "Equal"
        if key:
            for problem in names.check_qualified_name(key):
                yield invalid(f"{place}.key", key, problem)
        elif operator != "Exists":
            text = (
                "operator must be Exists when `key` is empty, which means"
                ' "match all values and all keys"'
            )
            yield invalid(f"{place}.operator", operator, text)
        if each.get("tolerationSeconds") is not None and each.get("effect") != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid(f"{place}.effect", each.get("effect") or "", text)
        if operator not in ("Equal", "Exists"):
            yield not_supported(f"{place}.operator", operator, ("Equal", "Exists"))
        elif operator == "Exists" and each.get("value"):
            text = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{place}.operator", each["value"], text)
        if each.get("effect"):
            yield from validators.validate_enum(f"{place}.effect", each["effect"], _TAINT_EFFECTS)


def _validate_alias(aliases: Sequence[Any], path: str) -> Iterator[FieldError]:
    for index, alias in enumerate(aliases):
        for at, host in enumerate(alias.get("hostnames") or ()):
            for problem in names.check_dns1123_subdomain(host):
                yield invalid(f"{path}[{index}].hostnames[{at}]", host, problem)


def _validate_spread(constraints: Sequence[Any], path: str) -> Iterator[FieldError]:
    for index, each in enumerate(constraints):
        place = f"{path}[{index}]"
        if (each.get("maxSkew") or 0) <= 0:
            text = "must be greater than zero"
            yield invalid(f"{place}.maxSkew", each.get("maxSkew") or 0, text)
        if not each.get("topologyKey"):
            yield required(f"{place}.topologyKey", "can not be empty")
        choices = ("DoNotSchedule", "ScheduleAnyway")
        yield from validators.validate_required_enum(
            f"{place}.whenUnsatisfiable", each.get("whenUnsatisfiable"), choices
        )
        yield from validators.validate_label_selector(
            f"{place}.labelSelector", each.get("labelSelector")
        )
