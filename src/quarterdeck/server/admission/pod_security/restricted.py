"""The checks that the level `restricted` adds, in the order of their names. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck.server.admission.pod_security import baseline
from quarterdeck.server.admission.pod_security.pod import (
    Pod,
    Violation,
    choose_form,
    format_containers,
    format_setters,
    join_quoted,
)

_FIRST_WINDOWS = 25
"""The first minor version that exempts Windows pods from checks of Linux-only fields."""
_VOLUMES = frozenset(
    (
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
        "projected", "secret",
    )
)  # fmt: skip
_NAMED_VOLUMES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi",
    "glusterfs", "rbd", "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile",
    "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO",
    "storageos",
)  # fmt: skip


def check_escalation(pod: Pod, minor: int) -> Iterator[Violation]:
    """No container may gain privileges."""
    if minor < 8 or (pod.is_windows and minor >= _FIRST_WINDOWS):
        return
    if names := pod.find(lambda context: context.get("allowPrivilegeEscalation") is not False):
        yield Violation(
            "allowPrivilegeEscalation != false",
            f"{format_containers(names)} must set securityContext.allowPrivilegeEscalation=false",
        )


def check_capabilities(pod: Pod, minor: int) -> Iterator[Violation]:
    """All capabilities are dropped; only NET_BIND_SERVICE may be added again."""
    if minor < 22:
        yield from baseline.check_capabilities(pod, minor)
        return
    if pod.is_windows and minor >= _FIRST_WINDOWS:
        return

    def keeps(context: Mapping[str, Any]) -> bool:
        return "ALL" not in ((context.get("capabilities") or {}).get("drop") or ())

    def list_added(context: Mapping[str, Any]) -> list[str]:
        added = (context.get("capabilities") or {}).get("add") or ()
        return [each for each in added if each != "NET_BIND_SERVICE"]

    details = []
    if names := pod.find(keeps):
        details.append(
            f'{format_containers(names)} must set securityContext.capabilities.drop=["ALL"]'
        )
    if names := pod.find(lambda context: bool(list_added(context))):
        added = {
            each
            for container in pod.containers
            for each in list_added(container.get("securityContext") or {})
        }
        details.append(
            f"{format_containers(names)} must not include {join_quoted(sorted(added))} in"
            " securityContext.capabilities.add"
        )
    if details:
        yield Violation("unrestricted capabilities", "; ".join(details))


def check_volumes(pod: Pod, minor: int) -> Iterator[Violation]:
    """Only volumes that Kubernetes itself provides are mounted."""
    bad = [each for each in pod.spec.get("volumes") or () if not _VOLUMES.intersection(each)]
    if not bad:
        return
    names = [each.get("name") or "" for each in bad]
    kinds = sorted(
        {next((kind for kind in _NAMED_VOLUMES if kind in each), "unknown") for each in bad}
    )
    verb = "uses" if len(names) == 1 else "use"
    yield Violation(
        "restricted volume types",
        f"{choose_form(names, 'volume')} {join_quoted(names)} {verb}"
        f" {choose_form(kinds, 'restricted volume type')} {join_quoted(kinds)}",
    )


def check_non_root(pod: Pod, minor: int) -> Iterator[Violation]:
    """Containers say that they do not run as root."""
    said = pod.context.get("runAsNonRoot")
    explicit = pod.find(lambda context: context.get("runAsNonRoot") is False)
    if said is False or explicit:
        setters = format_setters(is_pod=said is False, names=explicit)
        text = f"{setters} must not set securityContext.runAsNonRoot=false"
        yield Violation("runAsNonRoot != true", text)
        return
    if said is not True and (
        names := pod.find(lambda context: context.get("runAsNonRoot") is None)
    ):
        text = f"pod or {format_containers(names)} must set securityContext.runAsNonRoot=true"
        yield Violation("runAsNonRoot != true", text)


def check_user(pod: Pod, minor: int) -> Iterator[Violation]:
    """The number of the user is not that of root."""
    if minor < 23:
        return
    setters = format_setters(
        is_pod=pod.context.get("runAsUser") == 0,
        names=pod.find(lambda context: context.get("runAsUser") == 0),
    )
    if setters:
        yield Violation("runAsUser=0", f"{setters} must not set runAsUser=0")


def check_seccomp(pod: Pod, minor: int) -> Iterator[Violation]:
    """Every container has a seccomp profile."""
    if minor >= _FIRST_WINDOWS and pod.is_windows:
        return
    violations = list(baseline.check_seccomp(pod, minor))
    yield from violations
    if violations or minor < 19 or pod.context.get("seccompProfile") is not None:
        return
    if names := pod.find(lambda context: context.get("seccompProfile") is None):
        yield Violation(
            "seccompProfile",
            f"pod or {format_containers(names)} must set securityContext.seccompProfile.type to"
            ' "RuntimeDefault" or "Localhost"',
        )
