"""The checks of the level `baseline`, in the order of their names. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck.meta.field import quote
from quarterdeck.server.admission.pod_security.pod import (
    Pod,
    Violation,
    choose_form,
    format_containers,
    format_setters,
    join_quoted,
)

_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES = ("RuntimeDefault", "Localhost")
_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
        "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    )
)  # fmt: skip
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t")
_SYSCTLS: Mapping[int, tuple[str, ...]] = {
    0: (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    ),
    27: ("net.ipv4.ip_local_reserved_ports",),
    29: (
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
    ),
    32: ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
}
"""Safe settings of the kernel, by the release that added them."""
_FIRST_SECCOMP_FIELD = 19
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


def check_app_armor(pod: Pod, minor: int) -> Iterator[Violation]:
    """AppArmor profiles may not be switched off."""
    profiles = [_get_type(pod.context, "appArmorProfile")]
    is_pod = profiles[0] is not None and profiles[0] not in _PROFILES
    names = pod.find(lambda context: _is_bad_profile(context, "appArmorProfile"))
    values = _list_bad_profiles(pod, "appArmorProfile")
    forbidden = sorted(
        f"{key}={quote(value)}"
        for key, value in pod.annotations.items()
        if key.startswith(_APPARMOR)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    setters = format_setters(is_pod=is_pod, names=names)
    if forbidden:
        annotations = choose_form(forbidden, "annotation")
        setters = f"{setters} and {annotations}" if setters else annotations
    if setters:
        values += forbidden
        yield Violation(
            choose_form(values, "forbidden AppArmor profile"),
            f"{setters} must not set AppArmor profile type to {join_quoted(values)}",
        )


def check_capabilities(pod: Pod, minor: int) -> Iterator[Violation]:
    """Only harmless capabilities may be added."""

    def list_added(context: Mapping[str, Any]) -> list[str]:
        added = (context.get("capabilities") or {}).get("add") or ()
        return [each for each in added if each not in _CAPABILITIES]

    if names := pod.find(lambda context: bool(list_added(context))):
        added = {
            each
            for container in pod.containers
            for each in list_added(container.get("securityContext") or {})
        }
        yield Violation(
            "non-default capabilities",
            f"{format_containers(names)} must not include {join_quoted(sorted(added))} in"
            " securityContext.capabilities.add",
        )


def check_host_namespaces(pod: Pod, minor: int) -> Iterator[Violation]:
    """Refuse pods that share namespaces of the host."""
    members = ("hostNetwork", "hostPID", "hostIPC")
    if used := [f"{member}=true" for member in members if pod.spec.get(member)]:
        yield Violation("host namespaces", ", ".join(used))


def check_host_paths(pod: Pod, minor: int) -> Iterator[Violation]:
    """The files of the host are not mounted."""
    volumes = pod.spec.get("volumes") or ()
    if names := [each.get("name") or "" for each in volumes if each.get("hostPath") is not None]:
        yield Violation("hostPath volumes", f"{choose_form(names, 'volume')} {join_quoted(names)}")


def check_host_ports(pod: Pod, minor: int) -> Iterator[Violation]:
    """Ports of the host are not used."""
    used = {
        container.get("name") or "": ports
        for container in pod.containers
        if (
            ports := [
                each["hostPort"] for each in container.get("ports") or () if each.get("hostPort")
            ]
        )
    }
    if used:
        ports = sorted({str(port) for each in used.values() for port in each})
        verb = "uses" if len(used) == 1 else "use"
        yield Violation(
            "hostPort",
            f"{format_containers(list(used))} {verb} {choose_form(ports, 'hostPort')}"
            f" {', '.join(ports)}",
        )


def check_privileged(pod: Pod, minor: int) -> Iterator[Violation]:
    """No container is privileged."""
    if names := pod.find(lambda context: context.get("privileged") is True):
        text = f"{format_containers(names)} must not set securityContext.privileged=true"
        yield Violation("privileged", text)


def check_proc_mount(pod: Pod, minor: int) -> Iterator[Violation]:
    """The files of processes are masked."""
    if names := pod.find(lambda context: context.get("procMount") not in (None, "Default")):
        kinds = {
            kind
            for each in pod.containers
            if (kind := (each.get("securityContext") or {}).get("procMount") or "Default")
            != "Default"
        }
        yield Violation(
            "procMount",
            f"{format_containers(names)} must not set securityContext.procMount to"
            f" {join_quoted(sorted(kinds))}",
        )


def check_selinux(pod: Pod, minor: int) -> Iterator[Violation]:
    """SELinux types are those of containers; users and roles are not set."""
    allowed = (*_SELINUX_TYPES, "container_engine_t") if minor >= 31 else _SELINUX_TYPES

    def is_bad(context: Mapping[str, Any]) -> bool:
        options = context.get("seLinuxOptions") or {}
        is_type_bad = (options.get("type") or "") not in allowed
        return bool(is_type_bad or options.get("user") or options.get("role"))

    names = pod.find(is_bad)
    if not names and not is_bad(pod.context):
        return
    contexts = [pod.context, *(each.get("securityContext") or {} for each in pod.containers)]
    options = [each.get("seLinuxOptions") or {} for each in contexts]
    types = sorted({each.get("type") or "" for each in options} - set(allowed))
    data = [f"{choose_form(types, 'type')} {join_quoted(types)}"] if types else []
    data += [
        f"{member} may not be set"
        for member in ("user", "role")
        if any(each.get(member) for each in options)
    ]
    setters = format_setters(is_pod=is_bad(pod.context), names=names)
    yield Violation(
        "seLinuxOptions",
        f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}",
    )


def check_seccomp(pod: Pod, minor: int) -> Iterator[Violation]:
    """Seccomp profiles may not be switched off."""
    if minor < _FIRST_SECCOMP_FIELD:
        yield from _check_seccomp_annotations(pod)
        return
    names = pod.find(lambda context: _is_bad_profile(context, "seccompProfile"))
    is_pod = _is_bad_profile(pod.context, "seccompProfile")
    if names or is_pod:
        values = _list_bad_profiles(pod, "seccompProfile")
        yield Violation(
            "seccompProfile",
            f"{format_setters(is_pod=is_pod, names=names)} must not set"
            f" securityContext.seccompProfile.type to {join_quoted(values)}",
        )


def _check_seccomp_annotations(pod: Pod) -> Iterator[Violation]:
    keys = [_SECCOMP, *(f"{_SECCOMP_CONTAINER}{each.get('name')}" for each in pod.containers)]
    forbidden = sorted(
        f"{key}={quote(value)}"
        for key in keys
        if (value := pod.annotations.get(key)) is not None
        and value not in ("runtime/default", "docker/default")
        and not value.startswith("localhost/")
    )
    if forbidden:
        what = choose_form(forbidden, "annotation")
        yield Violation("seccompProfile", f"forbidden {what} {', '.join(forbidden)}")


def check_sysctls(pod: Pod, minor: int) -> Iterator[Violation]:
    """Only settings of the kernel that concern the pod alone are changed."""
    allowed = {name for since, names in _SYSCTLS.items() if since <= minor for name in names}
    used = [each.get("name") or "" for each in pod.context.get("sysctls") or ()]
    if forbidden := [name for name in used if name not in allowed]:
        yield Violation("forbidden sysctls", ", ".join(forbidden))


def check_host_process(pod: Pod, minor: int) -> Iterator[Violation]:
    """No container is a process of a Windows host."""

    def is_bad(context: Mapping[str, Any]) -> bool:
        return (context.get("windowsOptions") or {}).get("hostProcess") is True

    setters = format_setters(is_pod=is_bad(pod.context), names=pod.find(is_bad))
    if setters:
        text = f"{setters} must not set securityContext.windowsOptions.hostProcess=true"
        yield Violation("hostProcess", text)


def _get_type(context: Mapping[str, Any], member: str) -> str | None:
    profile = context.get(member)
    return None if profile is None else profile.get("type") or ""


def _is_bad_profile(context: Mapping[str, Any], member: str) -> bool:
    kind = _get_type(context, member)
    return kind is not None and kind not in _PROFILES


def _list_bad_profiles(pod: Pod, member: str) -> list[str]:
    contexts = [pod.context, *(each.get("securityContext") or {} for each in pod.containers)]
    return sorted(
        {
            kind
            for each in contexts
            if (kind := _get_type(each, member)) is not None and kind not in _PROFILES
        }
    )
