"""Defaults of a pod's spec: the same for pods and for every template of a workload."""

from typing import Any

from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds.fields import get_items, set_defaults
from quarterdeck.server.kinds.network_volume_validation import default_network_volume
from quarterdeck.server.kinds.pod_resources import default_pod_resources
from quarterdeck.server.registry.resource import Object

_FILE_MODE = 0o644


def default_spec(spec: Object) -> None:
    """Fill in what every pod spec has."""
    _default_account(spec)
    set_defaults(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    for member in ("initContainers", "containers", "ephemeralContainers"):
        for container in get_items(spec, member):
            default_container(container)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    for volume in get_items(spec, "volumes"):
        _default_volume(volume)


def default_template(template: Object) -> None:
    """Fill in the pod template of a workload."""
    default_spec(template.setdefault("spec", {}))


def _default_account(spec: Object) -> None:
    """Copy `serviceAccountName` to the deprecated field."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _default_host_ports(spec: Object) -> None:
    for member in ("initContainers", "containers"):
        for container in get_items(spec, member):
            for port in get_items(container, "ports"):
                set_defaults(port, hostPort=port.get("containerPort"))


def default_container(container: Object) -> None:
    """Fill in what every container has."""
    for port in get_items(container, "ports"):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    set_defaults(
        container,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=default_pull_policy(container.get("image") or ""),
    )
    for member in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(member)) is not None:
            set_defaults(
                probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3
            )
            _default_handler(probe)
    lifecycle = container.get("lifecycle") or {}
    for member in ("postStart", "preStop"):
        if (handler := lifecycle.get(member)) is not None:
            _default_handler(handler)
    for variable in get_items(container, "env"):
        source = variable.get("valueFrom") or {}
        _default_field_ref(source)
        if (file := source.get("fileKeyRef")) is not None:
            set_defaults(file, optional=False)


def default_pull_policy(image: str) -> str:
    """Return the default pull policy: Always for the tag `latest`, else IfNotPresent.

    An image without tag and digest has the tag `latest`.
    """
    if not image:
        return "IfNotPresent"
    name, at, _ = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    moving = tag == "latest" if colon else not at
    return "Always" if moving else "IfNotPresent"


def _default_handler(handler: Object) -> None:
    if (request := handler.get("httpGet")) is not None:
        if not request.get("path"):
            request["path"] = "/"
        if not request.get("scheme"):
            request["scheme"] = "HTTP"
    if (request := handler.get("grpc")) is not None:
        set_defaults(request, service="")


def _default_field_ref(source: Object) -> None:
    reference = source.get("fieldRef")
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


def _default_volume(volume: Object) -> None:
    if not any(key != "name" for key in volume):
        volume["emptyDir"] = {}
    for member in ("secret", "configMap", "downwardAPI", "projected"):
        if (source := volume.get(member)) is not None:
            set_defaults(source, defaultMode=_FILE_MODE)
    _default_downward(volume.get("downwardAPI") or {})
    for source in get_items(volume, "projected", "sources"):
        _default_downward(source.get("downwardAPI") or {})
        if (token := source.get("serviceAccountToken")) is not None:
            set_defaults(token, expirationSeconds=3600)
    if (image := volume.get("image")) is not None and has_feature("ImageVolume"):
        set_defaults(image, pullPolicy=default_pull_policy(image.get("reference") or ""))
    if (host := volume.get("hostPath")) is not None:
        set_defaults(host, type="")
    default_network_volume(volume)
    claim = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec")
    if claim is not None:
        set_defaults(claim, volumeMode="Filesystem")


def _default_downward(source: Object) -> None:
    for item in get_items(source, "items"):
        _default_field_ref(item)


def default_pod(pod: Object) -> None:
    """Fill in the defaults of a pod; requests default to limits."""
    spec = pod.setdefault("spec", {})
    for member in ("initContainers", "containers"):
        for container in get_items(spec, member):
            _default_requests(container)
    if has_feature("PodLevelResources"):
        default_pod_resources(spec)
    set_defaults(spec, enableServiceLinks=True)
    default_spec(spec)
    if status := pod.get("status"):
        _match_addresses(status)


def _match_addresses(status: Object) -> None:
    """Make `podIP` and `podIPs` consistent; `podIP` takes precedence if they differ."""
    address, addresses = status.get("podIP"), get_items(status, "podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip") or ""


def _default_requests(container: Object) -> None:
    resources: dict[str, Any] = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return
    requests = resources.setdefault("requests", {})
    for name, amount in limits.items():
        requests.setdefault(name, amount)


def compute_qos_class(spec: Object) -> str:
    """Compute the QoS class from the requests and limits of all containers, or of the pod."""
    containers = [*get_items(spec, "initContainers"), *get_items(spec, "containers")]
    if has_feature("PodLevelResources") and spec.get("resources") is not None:
        containers = [spec]
    requests, limits, all_limited = False, False, True
    equal = True
    for container in containers:
        resources = container.get("resources") or {}
        asked = _get_amounts(resources.get("requests"))
        capped = _get_amounts(resources.get("limits"))
        requests, limits = requests or bool(asked), limits or bool(capped)
        all_limited = all_limited and capped.keys() >= {"cpu", "memory"}
        equal = equal and all(capped.get(name) == amount for name, amount in asked.items())
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if all_limited and equal else "Burstable"


def _get_amounts(amounts: dict[str, Any] | None) -> dict[str, str]:
    return {
        name: str(amount)
        for name, amount in (amounts or {}).items()
        if name in ("cpu", "memory") and str(amount) not in ("0", "")
    }
