"""Security contexts of pods and containers: users, groups and profiles."""

from collections.abc import Iterator

from quarterdeck.meta.field import Bare, FieldError, invalid, not_supported, quote, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.kinds.pod_system_validation import validate_sysctls
from quarterdeck.server.registry.resource import Object

_LARGEST_ID = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_POLICIES = (
    ("SELinuxChangePolicy", "seLinuxChangePolicy", ("Recursive",)),
    ("SupplementalGroupsPolicy", "supplementalGroupsPolicy", ("Merge", "Strict")),
)
_GO_CONTEXT = (
    ("Capabilities", "*core.Capabilities", "capabilities"),
    ("Privileged", "*bool", "privileged"),
    ("SELinuxOptions", "*core.SELinuxOptions", "seLinuxOptions"),
    ("WindowsOptions", "*core.WindowsSecurityContextOptions", "windowsOptions"),
    ("RunAsUser", "*int64", "runAsUser"),
    ("RunAsGroup", "*int64", "runAsGroup"),
    ("RunAsNonRoot", "*bool", "runAsNonRoot"),
    ("ReadOnlyRootFilesystem", "*bool", "readOnlyRootFilesystem"),
    ("AllowPrivilegeEscalation", "*bool", "allowPrivilegeEscalation"),
    ("ProcMount", "*core.ProcMountType", "procMount"),
    ("SeccompProfile", "*core.SeccompProfile", "seccompProfile"),
    ("AppArmorProfile", "*core.AppArmorProfile", "appArmorProfile"),
)


def validate_container_context(context: Object, path: str) -> Iterator[FieldError]:
    """Check the security context of a container."""
    yield from _validate_ids(context, path, ("runAsUser", "runAsGroup"))
    yield from _validate_profiles(context, path)
    if context.get("allowPrivilegeEscalation") is not False:
        return
    if context.get("privileged"):
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield invalid(path, _format_go_context(context), text)
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        yield invalid(path, _format_go_context(context), text)


def validate_pod_context(spec: Object, path: str) -> Iterator[FieldError]:
    """Check the security context of a pod."""
    context, place = spec.get("securityContext") or {}, f"{path}.securityContext"
    yield from _validate_ids(context, place, ("fsGroup", "runAsUser", "runAsGroup"))
    for index, number in enumerate(get_items(context, "supplementalGroups")):
        yield from validate_id(number, f"{place}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{place}.shareProcessNamespace", value=True, detail=text)
    if context.get("sysctls"):
        yield from validate_sysctls(context, place)
    policies = ("Always", "OnRootMismatch")
    policy = context.get("fsGroupChangePolicy")
    yield from validators.validate_enum(f"{place}.fsGroupChangePolicy", policy, policies)
    for feature, member, choices in _POLICIES:
        if has_feature(feature):
            yield from validators.validate_enum(f"{place}.{member}", context.get(member), choices)
    yield from _validate_profiles(context, place)


def _validate_ids(context: Object, path: str, members: tuple[str, ...]) -> Iterator[FieldError]:
    for member in members:
        if context.get(member) is not None:
            yield from validate_id(context[member], f"{path}.{member}")


def validate_id(number: int, path: str) -> Iterator[FieldError]:
    """Check the number of a user or group."""
    if not 0 <= number <= _LARGEST_ID:
        yield invalid(path, number, f"must be between 0 and {_LARGEST_ID}, inclusive")


def _validate_profiles(context: Object, path: str) -> Iterator[FieldError]:
    if (profile := context.get("seccompProfile")) is not None:
        yield from _validate_seccomp(profile, f"{path}.seccompProfile")
    if (profile := context.get("appArmorProfile")) is not None:
        yield from _validate_app_armor(profile, f"{path}.appArmorProfile")


def _validate_seccomp(profile: Object, path: str) -> Iterator[FieldError]:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    if kind == "Localhost":
        if local is None:
            text = "must be set when seccomp type is Localhost"
            yield required(f"{path}.localhostProfile", text)
        else:
            yield from validators.validate_descending_path(f"{path}.localhostProfile", local)
    elif local is not None:
        pointer = f"(*string)({validators.GO_POINTER})"
        shown = Bare(f"core.SeccompProfile{{Type:{quote(kind)}, LocalhostProfile:{pointer}}}")
        text = "can only be set when seccomp type is Localhost"
        yield invalid(f"{path}.localhostProfile", shown, text)


def _validate_app_armor(profile: Object, path: str) -> Iterator[FieldError]:
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    place = f"{path}.localhostProfile"
    match kind:
        case "Localhost":
            if not local:
                yield required(place, "must be set when AppArmor type is Localhost")
            elif local != local.strip():
                yield invalid(place, local, "must not be padded with whitespace")
        case "RuntimeDefault" | "Unconfined":
            if local is not None:
                yield invalid(place, local, "can only be set when AppArmor type is Localhost")
        case "":
            yield required(f"{path}.type", "type is required when appArmorProfile is set")
        case _:
            yield not_supported(f"{path}.type", kind, _PROFILES)


def _format_go_context(context: Object) -> Bare:
    """Format a context as Go prints it: what a pointer points to is not shown."""
    shown = (
        f"{go}:({kind})({'nil' if context.get(name) is None else validators.GO_POINTER})"
        for go, kind, name in _GO_CONTEXT
    )
    return Bare(f"core.SecurityContext{{{', '.join(shown)}}}")
