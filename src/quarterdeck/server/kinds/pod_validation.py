"""Validation of pod specs: containers, volumes, scheduling and security.

It is used for pods and for templates; `path` is the path of the spec. Not every rule of Kubernetes
is here, but those that hand-written manifests violate.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
)
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import pod_features, validators
from quarterdeck.server.kinds.addresses import validate_address
from quarterdeck.server.kinds.affinity_validation import validate_affinity
from quarterdeck.server.kinds.container_validation import validate_containers, validate_resources
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.pod_resources import validate_pod_resources
from quarterdeck.server.kinds.pod_security_validation import validate_pod_context
from quarterdeck.server.kinds.pod_system_validation import (
    validate_host_network,
    validate_system_members,
)
from quarterdeck.server.kinds.topology_spread_validation import validate_topology_spread_constraints
from quarterdeck.server.kinds.volume_source_validation import validate_volumes
from quarterdeck.server.registry.metadata_validation import validate_labels
from quarterdeck.server.registry.resource import Object

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_COMPARISONS = ("Lt", "Gt")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_SYSTEMS = ("linux", "windows")
_LARGEST = 2**31 - 1
_MOST_NAME_SERVERS = 3
_MOST_SEARCHES = 32


def validate_spec(spec: Object, path: str) -> Iterator[FieldError]:
    """Check a pod spec; `path` is the field it is in."""
    volumes: dict[str, Object] = {}
    yield from validate_volumes(spec, path, volumes)
    if has_feature("DynamicResourceAllocation"):
        yield from pod_features.validate_pod_claims(spec, path)
    yield from validate_containers(spec, path, volumes)
    if has_feature("PodLevelResources"):
        yield from validate_pod_resources(spec, path)
    yield from validators.validate_required_enum(
        f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES
    )
    yield from validators.validate_required_enum(
        f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES
    )
    yield from _validate_name(spec, path)
    yield from validate_pod_context(spec, path)
    for member, check in _CHECKS.items():
        if spec.get(member) is not None or (
            member == "dnsConfig" and spec.get("dnsPolicy") == "None"
        ):
            yield from check(spec, path)
    if has_feature("UserNamespacesSupport"):
        yield from pod_features.validate_user_namespace(spec, path)
    if has_feature("HostnameOverride"):
        yield from pod_features.validate_host_name(spec, path)
    if has_feature("EnvFiles"):
        yield from pod_features.validate_file_references(spec, path)


# the pod as a whole ------------------------------------------------------------------------------


def _validate_name_servers(spec: Object, path: str) -> Iterator[FieldError]:
    path = f"{path}.dnsConfig"
    config = spec.get("dnsConfig")
    servers = get_items(spec, "dnsConfig", "nameservers")
    if spec.get("dnsPolicy") == "None" and config is None:
        yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        return
    if spec.get("dnsPolicy") == "None" and not servers:
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield required(f"{path}.nameservers", text)
        return
    if len(servers) > _MOST_NAME_SERVERS:
        text = f"must not have more than {_MOST_NAME_SERVERS} nameservers"
        yield invalid(f"{path}.nameservers", validators.format_go_strings(servers), text)
    for index, server in enumerate(servers):
        yield from validate_address(f"{path}.nameservers[{index}]", server)
    searches = get_items(spec, "dnsConfig", "searches")
    if len(searches) > _MOST_SEARCHES:
        text = f"must not have more than {_MOST_SEARCHES} search paths"
        yield invalid(f"{path}.searches", validators.format_go_strings(searches), text)
    for index, domain in enumerate(searches):
        yield from _validate_search(domain, f"{path}.searches[{index}]")
    for index, option in enumerate(get_items(spec, "dnsConfig", "options")):
        if not option.get("name"):
            yield required(f"{path}.options[{index}]", "must not be empty")


def _validate_search(domain: str, path: str) -> Iterator[FieldError]:
    """Check a domain to search in; newer releases allow underscores, and the root."""
    check: Callable[[str], list[str]] = names.check_dns1123_subdomain
    if has_feature("RelaxedDNSSearchValidation"):
        if domain == ".":
            return
        check = names.check_underscore_subdomain
    name = domain.removesuffix(".")
    for problem in check(name):
        yield invalid(path, name, problem)


def _validate_readiness_gates(spec: Object, path: str) -> Iterator[FieldError]:
    for index, gate in enumerate(get_items(spec, "readinessGates")):
        kind = gate.get("conditionType") or ""
        for problem in names.check_qualified_name(kind):
            yield invalid(f"{path}.readinessGates[{index}].conditionType", kind, problem)


def _validate_scheduling_gates(spec: Object, path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, gate in enumerate(get_items(spec, "schedulingGates")):
        place, name = f"{path}.schedulingGates[{index}]", gate.get("name") or ""
        for problem in names.check_qualified_name(name):
            yield invalid(place, name, problem)
        if name in seen:
            yield duplicate(place, name)
        seen.add(name)


def _validate_system(spec: Object, path: str) -> Iterator[FieldError]:
    path = f"{path}.os"
    name = get_mapping(spec, "os").get("name") or ""
    if not name:
        yield required(f"{path}.name", "cannot be empty")
    elif name not in _SYSTEMS:
        yield not_supported(path, name, _SYSTEMS)
    else:
        yield from validate_system_members(spec, path.removesuffix(".os"), name)


def _validate_name(spec: Object, path: str) -> Iterator[FieldError]:
    rules: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
        ("serviceAccountName", names.check_dns1123_subdomain),
        ("nodeName", names.check_dns1123_subdomain),
        ("hostname", names.check_dns1123_label),
        ("subdomain", names.check_dns1123_label),
        ("priorityClassName", names.check_dns1123_subdomain),
        ("runtimeClassName", names.check_dns1123_subdomain),
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


def validate_tolerations(tolerations: Sequence[Any], path: str) -> Iterator[FieldError]:
    """Check which taints a pod tolerates."""
    for index, each in enumerate(tolerations):
        place, key = f"{path}[{index}]", each.get("key") or ""
        operator = each.get("operator") or ""
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
        if operator not in ("", "Equal", "Exists"):
            choices: tuple[str, ...] = ("Equal", "Exists")
            if operator in _COMPARISONS and has_feature("ComparisonOperatorsAreNamed"):
                choices += _COMPARISONS  # which are an error all the same
            yield not_supported(f"{place}.operator", operator, choices)
        elif operator != "Exists":
            if problems := names.check_label_value(each.get("value") or ""):
                yield invalid(f"{place}.operator", each.get("value"), ";".join(problems))
        elif each.get("value"):
            text = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{place}.operator", each["value"], text)
        if each.get("effect"):
            yield from validators.validate_enum(f"{place}.effect", each["effect"], _TAINT_EFFECTS)


def _validate_aliases(spec: Object, path: str) -> Iterator[FieldError]:
    path = f"{path}.hostAliases"
    for index, alias in enumerate(get_items(spec, "hostAliases")):
        address = alias.get("ip") or ""
        yield from validate_address(f"{path}[{index}].ip", address)
        for at, host in enumerate(alias.get("hostnames") or ()):
            for problem in names.check_dns1123_subdomain(host):
                yield invalid(f"{path}[{index}].hostnames[{at}]", host, problem)


_CHECKS: dict[str, Callable[[Object, str], Iterable[FieldError]]] = {
    "dnsConfig": _validate_name_servers,
    "nodeSelector": lambda spec, path: validate_labels(
        get_mapping(spec, "nodeSelector"), f"{path}.nodeSelector"
    ),
    "readinessGates": _validate_readiness_gates,
    "schedulingGates": _validate_scheduling_gates,
    "activeDeadlineSeconds": _validate_deadline,
    "tolerations": lambda spec, path: validate_tolerations(
        get_items(spec, "tolerations"), f"{path}.tolerations"
    ),
    "hostAliases": _validate_aliases,
    "topologySpreadConstraints": validate_topology_spread_constraints,
    "preemptionPolicy": lambda spec, path: validators.validate_enum(
        f"{path}.preemptionPolicy", spec["preemptionPolicy"], _PREEMPTION_POLICIES
    ),
    "overhead": lambda spec, path: validate_resources(
        {"limits": get_mapping(spec, "overhead")}, f"{path}.overhead"
    ),
    "os": _validate_system,
    "hostNetwork": lambda spec, path: (
        validate_host_network(spec, path) if spec["hostNetwork"] else ()
    ),
    "affinity": lambda spec, path: validate_affinity(
        get_mapping(spec, "affinity"), f"{path}.affinity"
    ),
}
"""Checks of members that most pods do not have."""
