"""Ingresses, their classes, and NetworkPolicies."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import items, mapping
from quarterdeck.server.kinds.services import load_balancer_addresses
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.kinds.templates import shown_selector
from quarterdeck.server.registry.printer import AGE, NAME, NONE, column, created
from quarterdeck.server.registry.resource import Context, Object

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_SHOWN_HOSTS = 3
_NARROW = 16


# ingresses ---------------------------------------------------------------------------------------


def _ingress_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    rules, backend = items(spec, "rules"), spec.get("defaultBackend")
    if not rules and backend is None:
        text = "either `defaultBackend` or `rules` must be specified"
        yield invalid("spec", validators.go_strings([]), text)
    if backend is not None:
        yield from _backend_problems(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        yield from _rule_problems(rule, f"spec.rules[{index}]")
    for index, entry in enumerate(items(spec, "tls")):
        for at, host in enumerate(entry.get("hosts") or ()):
            for problem in _host_problems(host):
                yield invalid(f"spec.tls[{index}].hosts[{at}]", host, problem)
    if name := spec.get("ingressClassName"):
        for problem in names.dns1123_subdomain(name):
            yield invalid("spec.ingressClassName", name, problem)


def _rule_problems(rule: Object, path: str) -> Iterator[FieldError]:
    if host := rule.get("host"):
        for problem in _host_problems(host):
            yield invalid(f"{path}.host", host, problem)
    http = rule.get("http")
    if http is None:
        return
    if not http.get("paths"):
        yield required(f"{path}.http.paths")
    for index, entry in enumerate(http.get("paths") or ()):
        yield from _path_problems(entry, f"{path}.http.paths[{index}]")


def _host_problems(host: str) -> list[str]:
    if "*" in host:
        return names.wildcard_subdomain(host)
    return names.dns1123_subdomain(host)


def _path_problems(entry: Object, path: str) -> Iterator[FieldError]:
    kind, text = entry.get("pathType"), entry.get("path") or ""
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
    elif kind not in _PATH_TYPES:
        yield not_supported(f"{path}.pathType", kind, _PATH_TYPES)
    elif (kind != "ImplementationSpecific" or text) and not text.startswith("/"):
        yield invalid(f"{path}.path", text, "must be an absolute path")
    if kind is not None:
        yield from _backend_problems(mapping(entry, "backend"), f"{path}.backend")


def _backend_problems(backend: Object, path: str) -> Iterator[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        text = "cannot set both resource and service backends"
        yield invalid(path, "", text)
    elif service is None and resource is None:
        yield invalid(path, "", "resource or service backend is required")
    if service is None:
        return
    name = service.get("name") or ""
    if not name:
        yield required(f"{path}.service.name")
    else:
        for problem in names.dns1035_label(name):
            yield invalid(f"{path}.service.name", name, problem)
    port = service.get("port") or {}
    if port.get("name") and port.get("number"):
        yield invalid(path, "", "cannot set both port name & port number")
    elif port.get("name"):
        for problem in validators.port_name(port["name"]):
            yield invalid(f"{path}.service.port.name", port["name"], problem)
    elif port.get("number"):
        yield from validators.port_number(f"{path}.service.port.number", port["number"])
    else:
        yield required(path, "port name or number is required")


def _ingress_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = mapping(value, "spec")
    rules = items(spec, "rules")
    address = ",".join(load_balancer_addresses(value))
    return (
        value["metadata"].get("name", ""),
        spec.get("ingressClassName") or NONE,
        _hosts_text(rules),
        address if len(address) <= _NARROW else f"{address[: _NARROW - 3]}...",
        "80, 443" if items(spec, "tls") else "80",
        created(value, now),
    )


def _hosts_text(rules: Sequence[Any]) -> str:
    hosts = [rule["host"] for rule in rules if rule.get("host")]
    shown = ",".join(hosts[:_SHOWN_HOSTS])
    if not shown:
        return "*"
    return f"{shown} + {len(rules) - _SHOWN_HOSTS} more..." if len(hosts) > _SHOWN_HOSTS else shown


_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


def _ingress_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    if context.subresource or _CLASS_ANNOTATION not in mapping(value, "metadata", "annotations"):
        return ()
    return [
        f'annotation "{_CLASS_ANNOTATION}" is deprecated, please use'
        " 'spec.ingressClassName' instead"
    ]


INGRESS = Rules(
    validate=_ingress_problems,
    warn=_ingress_warnings,
    counted=("spec",),
    columns=(
        NAME,
        column("Class"),
        column("Hosts"),
        column("Address"),
        column("Ports"),
        AGE,
    ),
    cells=_ingress_cells,
)


def _class_problems(value: Object, context: Context) -> Iterator[FieldError]:
    controller = mapping(value, "spec").get("controller") or ""
    host, slash, path = controller.partition("/")
    if not controller:
        yield required("spec.controller")
    elif not (host and slash and path):
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield invalid("spec.controller", controller, text)
    else:
        for problem in names.dns1123_subdomain(host):
            yield invalid("spec.controller", host, problem)


def _class_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = mapping(value, "spec")
    parameters = spec.get("parameters")
    shown = NONE
    if parameters:
        group = parameters.get("apiGroup")
        kind = f"{parameters.get('kind')}.{group}" if group else parameters.get("kind")
        shown = f"{kind}/{parameters.get('name')}"
    return (
        value["metadata"].get("name", ""),
        spec.get("controller") or "",
        shown,
        created(value, now),
    )


INGRESS_CLASS = Rules(
    validate=_class_problems,
    validate_change=lambda value, old, context: validators.immutable(
        "spec.controller",
        mapping(value, "spec").get("controller"),
        mapping(old, "spec").get("controller"),
    ),
    counted=("spec",),
    columns=(NAME, column("Controller"), column("Parameters"), AGE),
    cells=_class_cells,
)


# network policies --------------------------------------------------------------------------------


def _default_policy(value: Object) -> None:
    spec = value.setdefault("spec", {})
    for member in ("ingress", "egress"):
        for rule in items(spec, member):
            for port in items(rule, "ports"):
                if not port.get("protocol"):
                    port["protocol"] = "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _policy_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    yield from validators.label_selector("spec.podSelector", spec.get("podSelector"))
    for member, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(items(spec, member)):
            place = f"spec.{member}[{index}]"
            for at, port in enumerate(items(rule, "ports")):
                yield from _policy_port_problems(port, f"{place}.ports[{at}]")
            for at, peer in enumerate(items(rule, peers)):
                yield from _peer_problems(peer, f"{place}.{peers}[{at}]")
    for index, kind in enumerate(items(spec, "policyTypes")):
        if kind not in ("Ingress", "Egress"):
            yield not_supported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _policy_port_problems(port: Object, path: str) -> Iterator[FieldError]:
    yield from validators.one_of(f"{path}.protocol", port.get("protocol"), ("SCTP", "TCP", "UDP"))
    if port.get("port") is not None:
        yield from validators.port_or_name(f"{path}.port", port["port"])


def _peer_problems(peer: Object, path: str) -> Iterator[FieldError]:
    block = peer.get("ipBlock")
    selects = [
        member for member in ("podSelector", "namespaceSelector") if peer.get(member) is not None
    ]
    for member in selects:
        yield from validators.label_selector(f"{path}.{member}", peer.get(member))
    if block is None and not selects:
        yield required(path, "must specify a peer")
    elif block is not None and selects:
        text = "may not specify both ipBlock and another peer"
        yield forbidden(path, text)
    elif block is not None and not block.get("cidr"):
        yield required(f"{path}.ipBlock.cidr")
    elif block is not None and not validators.is_network(block["cidr"]):
        text = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
        yield invalid(f"{path}.ipBlock.cidr", block["cidr"], text)


def _policy_cells(value: Object, now: datetime) -> Sequence[object]:
    selector = mapping(value, "spec").get("podSelector")
    return (value["metadata"].get("name", ""), shown_selector(selector), created(value, now))


NETWORK_POLICY = Rules(
    default=_default_policy,
    validate=_policy_problems,
    counted=("spec",),
    columns=(NAME, column("Pod-Selector"), AGE),
    cells=_policy_cells,
)
