"""Validation that depends on the operating system of the node: sysctls, host ports and others."""

import re
from collections.abc import Iterator

from quarterdeck.meta.field import FieldError, duplicate, forbidden, invalid, required
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.registry.resource import Object

_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_PARAMETER = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_parameter_matches = re.compile(_PARAMETER[1:-1]).fullmatch
_LONGEST_PARAMETER = 253
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_LINUX_POD_MEMBERS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy"),
    *("sysctls", "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"),
    "seLinuxChangePolicy",
)
_LINUX_MEMBERS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "privileged"),
    *("readOnlyRootFilesystem", "allowPrivilegeEscalation", "procMount", "runAsUser"),
    "runAsGroup",
)
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_NOT_ON_LINUX = "windows options cannot be set for a linux pod"


def validate_sysctls(context: Object, path: str) -> Iterator[FieldError]:
    """Check the kernel parameters of a pod's security context."""
    seen: set[str] = set()
    for index, each in enumerate(get_items(context, "sysctls")):
        place, name = f"{path}.sysctls[{index}].name", each.get("name") or ""
        if not name:
            yield required(place)
        elif len(name) > _LONGEST_PARAMETER or not _parameter_matches(name):
            limit = f"must have at most {_LONGEST_PARAMETER} characters"
            yield invalid(place, name, f"{limit} and match regex {_PARAMETER}")
        elif name in seen:
            yield duplicate(place, name)
        seen.add(name)


def validate_host_network(spec: Object, path: str) -> Iterator[FieldError]:
    """Check that the ports of a pod with `hostNetwork` equal its host ports."""
    for index, container in enumerate(get_items(spec, "containers")):
        for at, port in enumerate(get_items(container, "ports")):
            number = port.get("hostPort") or 0
            if number != (port.get("containerPort") or 0):
                text = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}.containers[{index}].ports[{at}].hostPort", number, text)


def validate_system_members(spec: Object, path: str, system: str) -> Iterator[FieldError]:
    """Check that a pod has no members that only the other operating system supports."""
    contexts = [(f"{path}.securityContext", get_mapping(spec, "securityContext"))]
    contexts += [
        (f"{path}.{member}[{index}].securityContext", get_mapping(each, "securityContext"))
        for member in _CONTAINERS
        for index, each in enumerate(get_items(spec, member))
    ]
    if system == "linux":
        for place, context in contexts:
            if context.get("windowsOptions") is not None:
                yield forbidden(f"{place}.windowsOptions", _NOT_ON_LINUX)
        return
    for member in ("hostPID", "hostIPC"):
        if spec.get(member):
            yield forbidden(f"{path}.{member}", _NOT_ON_WINDOWS)
    for member in ("hostUsers", "shareProcessNamespace"):
        if spec.get(member) is not None:
            yield forbidden(f"{path}.{member}", _NOT_ON_WINDOWS)
    for place, context in contexts:
        members = _LINUX_POD_MEMBERS if place == contexts[0][0] else _LINUX_MEMBERS
        for member in members:
            if context.get(member) is not None:
                yield forbidden(f"{place}.{member}", _NOT_ON_WINDOWS)
