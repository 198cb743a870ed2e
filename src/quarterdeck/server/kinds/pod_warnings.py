"""Warnings about pod specs: valid fields that are probably a mistake."""

from collections.abc import Iterator, Sequence

from quarterdeck.meta import names
from quarterdeck.meta.field import quote
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds.claim_warnings import (
    find_claim_spec_warnings,
    find_fraction_warnings,
)
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.registry.resource import Context, Object

_BYTES = ("memory", "ephemeral-storage")
_SECCOMP = (
    "seccomp.security.alpha.kubernetes.io/pod",
    "container.seccomp.security.alpha.kubernetes.io/",
)
DEPRECATED_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_OLD_LABELS = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def find_pod_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    """Find warnings about a pod; none if the spec did not change."""
    if context.subresource or (old is not None and old.get("spec") == value.get("spec")):
        return ()
    return [*_find_name_warnings(value, old), *_find_warnings(value, "")]


def find_template_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    """Warnings about a workload: its name, which pods inherit, and its template."""
    template = get_field(value, "spec", "template")
    if context.subresource or (old is not None and get_field(old, "spec", "template") == template):
        return ()
    return [*_find_name_warnings(value, old), *_find_warnings(template or {}, "spec.template.")]


def _find_warnings(pod: Object, path: str) -> Iterator[str]:
    """Warnings about the pod or template at `path`, in Kubernetes' order."""
    spec = get_mapping(pod, "spec")
    yield from _find_spec_warnings(spec, f"{path}spec")
    yield from _find_annotation_warnings(pod, f"{path}metadata")
    yield from _find_container_warnings(spec, f"{path}spec")


def _find_annotation_warnings(value: Object, path: str) -> Iterator[str]:
    for name in sorted(get_mapping(value, "metadata", "annotations")):
        if name.startswith(_SECCOMP):
            yield (
                f'{path}.annotations[{name}]: non-functional in v1.27+; use the "seccompProfile"'
                " field instead"
            )


def _find_name_warnings(value: Object, old: Object | None) -> Iterator[str]:
    if old is None and (problems := names.check_dns1123_label(value["metadata"].get("name") or "")):
        listed = " ".join(problems)
        yield (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising"
            f" behavior; a DNS label is recommended: [{listed}]"
            if value.get("kind") == "Pod"
            else "metadata.name: this is used in Pod names and hostnames, which can result in"
            f" surprising behavior; a DNS label is recommended: [{listed}]"
        )


def _find_spec_warnings(spec: Object, path: str) -> Iterator[str]:
    for label in sorted(get_mapping(spec, "nodeSelector")):
        if label in _OLD_LABELS:
            new = quote(_OLD_LABELS[label])
            yield f"{path}.nodeSelector[{label}]: deprecated since v1.14; use {new} instead"
    seen: set[str] = set()
    for index, alias in enumerate(get_items(spec, "hostAliases")):
        address = alias.get("ip") or ""
        if address in seen:
            yield f"{path}.hostAliases[{index}].ip: duplicate ip {quote(address)}"
        seen.add(address)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {text}"
    for index, volume in enumerate(get_items(spec, "volumes")):
        for member in sorted(volume.keys() & DEPRECATED_VOLUMES.keys()):
            shown = "storageOS" if member == "storageos" else member
            more = ", and disabled by default in v1.33+" if _is_disabled(member) else ""
            yield f"{path}.volumes[{index}].{shown}: {DEPRECATED_VOLUMES[member]}{more}"
        if claim := get_mapping(volume, "ephemeral", "volumeClaimTemplate", "spec"):
            place = f"{path}.volumes[{index}].ephemeral.volumeClaimTemplate.spec"
            yield from find_claim_spec_warnings(claim, place)
        for source in get_items(volume, "projected", "sources"):
            if not source:
                name = quote(volume.get("name") or "")
                yield f"volume {name} (Projected) has no sources provided"
    for index, secret in enumerate(get_items(spec, "imagePullSecrets")):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _is_disabled(source: str) -> bool:
    """Whether a source of volumes is disabled by default in kubelets of this release."""
    return source == "gitRepo" and has_feature("GitRepoVolumesAreDisabled")


def _find_container_warnings(spec: Object, path: str) -> Iterator[str]:
    ports: dict[str, list[tuple[Object, str]]] = {}
    for member in ("initContainers", "containers"):
        for index, container in enumerate(get_items(spec, member)):
            place = f"{path}.{member}[{index}]"
            for amounts in ("limits", "requests"):
                yield from find_fraction_warnings(container, place, amounts, _BYTES)
            yield from _find_env_warnings(container, place)
            yield from _find_port_warnings(container, place, ports)


def _find_port_warnings(
    container: Object, path: str, seen: dict[str, list[tuple[Object, str]]]
) -> Iterator[str]:
    """Warn of duplicate or overlapping ports, in one container or in several."""
    for index, port in enumerate(get_items(container, "ports")):
        place = f"{path}.ports[{index}]"
        same = seen.setdefault(f"{port.get('containerPort')}/{port.get('protocol')}", [])
        for other, where in same:
            hosts = [each.get("hostPort") or 0 for each in (port, other)]
            if hosts[0] == hosts[1] and (port.get("hostIP") or "") == (other.get("hostIP") or ""):
                yield f"{place}: duplicate port definition with {where}"
            elif 0 in hosts:
                yield f"{place}: overlapping port definition with {where}"
        same.append((port, place))


def _find_env_warnings(container: Object, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(get_items(container, "env")):
        name = variable.get("name") or ""
        if name in seen:
            yield (
                f"{path}.env[{index}]: hides previous definition of {quote(name)}, which may be"
                " dropped when using apply"
            )
        seen.add(name)
