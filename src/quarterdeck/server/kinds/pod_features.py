"""Fields of pods that newer releases added: restart rules, device claims, host names and others.

Fields of a feature that is off in a release are dropped from new pods.
"""

from collections.abc import Iterable, Iterator, Sequence

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.registry.resource import Object

_LISTS = ("initContainers", "containers", "ephemeralContainers")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_MOST_RULES, _MOST_CODES = 20, 255
_LONGEST_HOST_NAME = 64

FieldErrors = Iterator[FieldError]


def drop_disabled(spec: Object) -> None:
    """Drop fields of features that are off in this release."""
    if not has_feature("GenericWorkload"):
        spec.pop("schedulingGroup", None)
    containers = [each for member in _LISTS for each in get_items(spec, member)]
    if not has_feature("ContainerStopSignals"):
        for container in containers:
            lifecycle = container.get("lifecycle") or {}
            if lifecycle.pop("stopSignal", None) is not None and not lifecycle:
                del container["lifecycle"]
    if not has_feature("PodCertificateRequest"):
        for volume in get_items(spec, "volumes"):
            for source in get_items(volume, "projected", "sources"):
                source.pop("podCertificate", None)
    if not has_feature("ContainerRestartRules"):
        return
    for container in get_items(spec, "ephemeralContainers"):
        container.pop("restartPolicyRules", None)


def keep_observed_generation(status: Object, before: Object) -> None:
    """Keep `observedGeneration` of a status and its conditions if a client omits it."""
    member = "observedGeneration"
    if not status.get(member) and before.get(member):
        status[member] = before[member]
    known: dict[str, list[int]] = {}
    for each in get_items(before, "conditions"):
        known.setdefault(each.get("type") or "", []).append(each.get(member) or 0)
    for each in get_items(status, "conditions"):
        earlier = known.get(each.get("type") or "")
        number = earlier.pop(0) if earlier else 0
        if not each.get(member) and number:
            each[member] = number


# containers --------------------------------------------------------------------------------------


def validate_restart(container: Object, path: str, *, is_init: bool) -> FieldErrors:
    """Check the restart policy and restart rules of a container."""
    policy, rules = container.get("restartPolicy"), get_items(container, "restartPolicyRules")
    if policy is None and not rules:
        return
    if policy is None:
        text = "must specify restartPolicy when restart rules are used"
        yield required(f"{path}.restartPolicy", text)
        if is_init:
            return
    elif policy not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.restartPolicyRules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _validate_rule(rule, f"{path}.restartPolicyRules[{index}]")


def _validate_rule(rule: Object, path: str) -> FieldErrors:
    action, codes = rule.get("action") or "", rule.get("exitCodes")
    if action not in _ACTIONS:
        yield not_supported(f"{path}.action", action, _ACTIONS)
    if codes is None:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    operator, values = codes.get("operator") or "", get_items(codes, "values")
    if operator not in ("In", "NotIn"):
        yield not_supported(f"{path}.exitCodes.operator", operator, ("In", "NotIn"))
    if len(values) > _MOST_CODES:
        yield too_many(f"{path}.exitCodes.values", len(values), _MOST_CODES)


def validate_resize_policy(container: Object, path: str, pod_policy: str) -> FieldErrors:
    """Check the `resizePolicy` of a container."""
    path, seen = f"{path}.resizePolicy", set[str]()
    for index, each in enumerate(get_items(container, "resizePolicy")):
        name, policy = each.get("resourceName") or "", each.get("restartPolicy") or ""
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)
        yield from validators.validate_required_enum(path, name, ("cpu", "memory"))
        choices = ("NotRequired", "RestartContainer")
        yield from validators.validate_required_enum(path, policy, choices)
        if pod_policy == "Never" and policy != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield invalid(path, policy, text)


def validate_init_resize_policy(container: Object, path: str) -> FieldErrors:
    """Check that a resize does not restart an init container that is not a sidecar."""
    for index, each in enumerate(get_items(container, "resizePolicy")):
        if each.get("restartPolicy") == "RestartContainer":
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            place = f"{path}.resizePolicy[{index}].restartPolicy"
            yield invalid(place, "RestartContainer", text)


def validate_claims(container: Object, path: str, claims: Iterable[str]) -> FieldErrors:
    """Check the resource claims of a container, which must be claims of its pod."""
    known, seen = sorted(set(claims)), set[str]()
    for index, claim in enumerate(get_items(container, "resources", "claims")):
        place = f"{path}.resources.claims[{index}]"
        name, request = claim.get("name") or "", claim.get("request") or ""
        if not name:
            yield required(place)
            continue
        key = f"{name}/{request}" if request else name
        if name in seen:
            yield duplicate(place, name)
        elif request:
            for problem in names.check_dns1123_label(request):
                yield invalid(f"{place}.request", request, problem)
        if name not in seen and key in seen:
            yield duplicate(place, key)
        elif not request:
            taken = sum(each.startswith(f"{name}/") for each in seen)
            yield from [duplicate(place, name)] * taken
        seen.add(key)
        if name not in known:
            shown = f": {', '.join(known)}" if known else " which is empty"
            yield FieldError(
                type=ErrorType.NOT_FOUND,
                field=place,
                value=name,
                detail=f"must be one of the names in pod.spec.resourceClaims{shown}",
            )


# the pod -----------------------------------------------------------------------------------------


def validate_pod_claims(spec: Object, path: str) -> FieldErrors:
    """Check the claims of a pod: each is named, and is a claim or a template."""
    seen: set[str] = set()
    for index, claim in enumerate(get_items(spec, "resourceClaims")):
        place, name = f"{path}.resourceClaims[{index}]", claim.get("name") or ""
        if not name:
            yield required(f"{place}.name")
        elif name in seen:
            yield duplicate(f"{place}.name", name)
        else:
            for problem in names.check_dns1123_label(name):
                yield invalid(f"{place}.name", name, problem)
            seen.add(name)
        members = ("resourceClaimName", "resourceClaimTemplateName")
        given = [each for each in members if claim.get(each) is not None]
        shown = format_go_struct("core/v1.PodResourceClaim", claim)
        if len(given) > 1:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be"
            yield invalid(place, shown, f"{text} specified")
        elif not given:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            yield invalid(place, shown, text)
        for member in given:
            for problem in names.check_dns1123_subdomain(claim[member]):
                yield invalid(f"{place}.{member}", claim[member], problem)


def validate_user_namespace(spec: Object, path: str) -> FieldErrors:
    """Check that a pod with its own user namespace uses no host namespaces or block devices."""
    if spec.get("hostUsers") is not False:
        return
    text = "when `hostUsers` is false"
    for member, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID")):
        if spec.get(member):
            yield forbidden(f"{path}.{shown}", text)
    if spec.get("hostIPC"):
        yield forbidden(f"{path}.HostIPC", text)
    for member in _LISTS:
        for index, container in enumerate(get_items(spec, member)):
            if container.get("volumeDevices"):
                yield forbidden(f"{path}.{member}[{index}].volumeDevices", text)


def validate_proc_mount(container: Object, path: str, spec: Object) -> FieldErrors:
    """Check that only a pod with its own user namespace has an unmasked `/proc`."""
    mount = get_field(container, "securityContext", "procMount")
    if mount == "Unmasked" and spec.get("hostUsers") is not False:
        text = "`hostUsers` must be false to use `Unmasked`"
        yield invalid(f"{path}.securityContext.procMount", mount, text)


def validate_host_name(spec: Object, path: str) -> FieldErrors:
    """Check `hostnameOverride`."""
    name, path = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if name is None:
        return
    if spec.get("setHostnameAsFQDN"):
        yield forbidden(path, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        yield forbidden(path, "may not be specified when hostNetwork is true")
    if len(name) > _LONGEST_HOST_NAME:
        yield too_long(path, name, _LONGEST_HOST_NAME)
    for problem in names.check_dns1123_subdomain(name):
        yield invalid(path, name, problem)


def validate_file_references(spec: Object, path: str) -> FieldErrors:
    """Check that `fileKeyRef` of variables refers to volumes of type emptyDir."""
    volumes = {each.get("name"): each for each in get_items(spec, "volumes")}
    for member in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(get_items(spec, member)):
            for at, variable in enumerate(get_items(container, "env")):
                name = get_field(variable, "valueFrom", "fileKeyRef", "volumeName")
                if get_field(variable, "valueFrom", "fileKeyRef") is None:
                    continue
                place = f"{path}.{member}[{index}].env[{at}].valueFrom.fileKeyRef.volumeName"
                if name not in volumes:
                    yield FieldError(type=ErrorType.NOT_FOUND, field=place, value=name or "")
                elif volumes[name].get("emptyDir") is None:
                    yield invalid(place, name, "referenced volume must be of type emptyDir")


def get_claim_names(spec: Object) -> Sequence[str]:
    """Return the names of the resource claims of a pod."""
    return [each.get("name") or "" for each in get_items(spec, "resourceClaims")]
