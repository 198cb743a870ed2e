"""The difference of two pod specs, which the API server appends to its error message.

Kubernetes prints its internal structs with a diff library: changed fields in full, two unchanged
neighbors on each side, and the number of omitted fields. This prints the same for changes of the
spec and of its containers; the Go names of nested members are derived from their JSON names.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.meta.field import quote
from quarterdeck.server.registry.resource import Object

_CONTEXT = 2
_SPEC = (
    "Volumes InitContainers Containers EphemeralContainers RestartPolicy"
    " TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName"
    " AutomountServiceAccountToken NodeName SecurityContext ImagePullSecrets Hostname Subdomain"
    " SetHostnameAsFQDN Affinity SchedulerName Tolerations HostAliases PriorityClassName Priority"
    " PreemptionPolicy DNSConfig ReadinessGates RuntimeClassName Overhead EnableServiceLinks"
    " TopologySpreadConstraints OS SchedulingGates ResourceClaims Resources"
)
_CONTAINER = (
    "Name Image Command Args WorkingDir Ports EnvFrom Env Resources ResizePolicy RestartPolicy"
    " VolumeMounts VolumeDevices LivenessProbe ReadinessProbe StartupProbe Lifecycle"
    " TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext Stdin"
    " StdinOnce TTY"
)
_JSON_NAMES = {
    "DNSPolicy": "dnsPolicy",
    "DNSConfig": "dnsConfig",
    "OS": "os",
    "TTY": "tty",
    "SetHostnameAsFQDN": "setHostnameAsFQDN",
}
_GO_NAMES = {
    "apiVersion": "APIVersion",
    "httpGet": "HTTPGet",
    "tcpSocket": "TCPSocket",
    "grpc": "GRPC",
    "csi": "CSI",
    "nfs": "NFS",
    "ip": "IP",
}
_TEXTS = frozenset(
    {
        "Name",
        "Image",
        "WorkingDir",
        "RestartPolicy",
        "DNSPolicy",
        "ServiceAccountName",
        "NodeName",
        "Hostname",
        "Subdomain",
        "SchedulerName",
        "PriorityClassName",
        "TerminationMessagePath",
        "TerminationMessagePolicy",
        "ImagePullPolicy",
    }
)
_FLAGS = frozenset({"Stdin", "StdinOnce", "TTY"})
_POINTERS = frozenset(
    {
        "configMap",
        "csi",
        "defaultMode",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "fieldRef",
        "hostPath",
        "mode",
        "nfs",
        "optional",
        "persistentVolumeClaim",
        "projected",
        "resourceFieldRef",
        "secret",
        "serviceAccountToken",
    }
)
_NAMED_REFERENCES = frozenset({"configMap"})
_IN_SECURITY_CONTEXT = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


class _Line(NamedTuple):
    """One printed line: its mark, its depth, the field it starts with, and the rest."""

    mark: str
    depth: int
    name: str
    text: str


def diff_specs(old: Object, new: Object) -> str:
    """Compute the text of the difference."""
    lines = [_Line(" ", 0, "", "core.PodSpec{")]
    lines += _diff_struct(
        _convert_to_internal(old), _convert_to_internal(new), _SPEC.split(), depth=1
    )
    lines.append(_Line(" ", 0, "", "}"))
    return "".join(f"{line}\n" for line in _align_lines(lines))


def _convert_to_internal(spec: Object) -> Object:
    """Convert a spec to the internal version: host settings move to the security context."""
    security = dict(spec.get("securityContext") or {})
    security |= {name: spec[name] for name in _IN_SECURITY_CONTEXT if name in spec}
    return {**spec, "securityContext": security}


def _get_json_name(field: str) -> str:
    return _JSON_NAMES.get(field) or field[0].lower() + field[1:]


def _diff_struct(old: Object, new: Object, fields: Sequence[str], *, depth: int) -> list[_Line]:
    changed = [
        (old.get(_get_json_name(field)) or None) != (new.get(_get_json_name(field)) or None)
        for field in fields
    ]
    lines: list[_Line] = []
    skipped = 0
    for field, shown in zip(fields, _find_nearby(changed), strict=True):
        if not shown:
            skipped += 1
            continue
        if skipped:
            lines.append(_build_elided_line(skipped, "field", depth))
            skipped = 0
        name = _get_json_name(field)
        lines += _diff_field(field, old.get(name), new.get(name), depth=depth)
    if skipped:
        lines.append(_build_elided_line(skipped, "field", depth))
    return lines


def _find_nearby(changed: Sequence[bool]) -> list[bool]:
    """Find changed lines and their neighbors; a single line between them is included."""
    shown = [
        any(changed[max(0, index - _CONTEXT) : index + _CONTEXT + 1])
        for index in range(len(changed))
    ]
    for index, each in enumerate(shown):
        before = index == 0 or shown[index - 1]
        after = index == len(shown) - 1 or shown[index + 1]
        if not each and before and after:
            shown[index] = True
    return shown


def _build_elided_line(count: int, noun: str, depth: int) -> _Line:
    return _Line(" ", depth, "", f"... // {count} identical {noun}{'' if count == 1 else 's'}")


def _diff_field(field: str, old: Any, new: Any, *, depth: int) -> list[_Line]:
    if (old or None) == (new or None):
        return [_Line(" ", depth, field, f"{_format_compact(old, field)},")]
    if field in ("Containers", "InitContainers") and old and new and len(old) == len(new):
        return [
            _Line(" ", depth, field, "[]core.Container{"),
            *_diff_containers(old, new, depth=depth + 1),
            _Line(" ", depth, "", "},"),
        ]
    return [
        _Line("-", depth, field, f"{_format_full(old, field)},"),
        _Line("+", depth, field, f"{_format_full(new, field)},"),
    ]


def _diff_containers(old: Sequence[Any], new: Sequence[Any], *, depth: int) -> list[_Line]:
    lines: list[_Line] = []
    changed = [before != after for before, after in zip(old, new, strict=True)]
    skipped = 0
    for before, after, shown in zip(old, new, _find_nearby(changed), strict=True):
        if not shown:
            skipped += 1
            continue
        if skipped:
            lines.append(_build_elided_line(skipped, "element", depth))
            skipped = 0
        if before == after:
            lines.append(_Line(" ", depth, "", f"{_format_compact(before, '')},"))
            continue
        lines.append(_Line(" ", depth, "", "{"))
        lines += _diff_struct(before, after, _CONTAINER.split(), depth=depth + 1)
        lines.append(_Line(" ", depth, "", "},"))
    if skipped:
        lines.append(_build_elided_line(skipped, "element", depth))
    return lines


def _format_full(value: Any, field: str) -> str:
    """Format a changed value, with its type if it is a list or map of strings."""
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return "[]string{" + ", ".join(map(quote, value)) + "}"
    if field == "NodeSelector" and value:
        members = (f"{quote(key)}: {quote(value[key])}" for key in sorted(value))
        return "map[string]string{" + ", ".join(members) + "}"
    return _format_compact(value, field)


def _format_compact(value: Any, field: str) -> str:
    """Format an unchanged value on one line; members that are empty are left out."""
    if not value and value is not False and field in _TEXTS:
        return '""'
    if field in _FLAGS:
        return "true" if value else "false"
    if value is None or value == []:
        return "nil"
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quote(value)
        case int() | float():
            return f"&{value}" if field and field[0].isupper() else str(value)
        case list():
            return "{" + ", ".join(_format_compact(each, "") for each in value) + "}"
        case dict():
            shown = "{" + ", ".join(_format_members(value)) + "}"
            return f"&{shown}" if field and field[0].isupper() else shown
        case _:
            return str(value)


def _format_members(value: Mapping[str, Any]) -> list[str]:
    if "name" in value and any(name in _POINTERS for name in value):
        sources = {name: each for name, each in value.items() if name != "name"}
        inner = ", ".join(_format_members(sources))
        return [f"Name: {quote(value['name'])}", f"VolumeSource: {{{inner}}}"]
    return [
        _format_member(name, each) for name, each in value.items() if each not in (None, "", False)
    ]


def _format_member(name: str, value: Any) -> str:
    if name in _NAMED_REFERENCES and isinstance(value, dict) and "name" in value:
        rest = [_format_member(each, part) for each, part in value.items() if each != "name"]
        reference = f"LocalObjectReference: {{Name: {quote(value['name'])}}}"
        return f"{_get_go_name(name)}: &{{{', '.join([reference, *rest])}}}"
    mark = "&" if name in _POINTERS else ""
    return f"{_get_go_name(name)}: {mark}{_format_compact(value, '')}"


def _get_go_name(name: str) -> str:
    return _GO_NAMES.get(name) or name[0].upper() + name[1:]


def _align_lines(lines: Sequence[_Line]) -> list[str]:
    """Pad the names of adjacent one-line fields to the same width, as Go does."""
    printed: list[str] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and _is_simple(lines[end]):
            end += 1
        if end == start:
            printed.append(_format_line(lines[start], 0))
            start += 1
            continue
        width = max(len(line.name) for line in lines[start:end])
        printed += [_format_line(line, width) for line in lines[start:end]]
        start = end
    return printed


def _is_simple(line: _Line) -> bool:
    return bool(line.name) and not line.text.endswith("{")


def _format_line(line: _Line, width: int) -> str:
    indent = "\t" * line.depth
    name = f"{line.name}:".ljust(width + 1) + " " if line.name else ""
    return f"{line.mark} {indent}{name}{line.text}"
