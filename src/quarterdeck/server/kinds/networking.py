"""Ingresses and their classes."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.kit.ip_address import parse_address
from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, forbidden, invalid, not_supported, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.addresses import VALID_ADDRESS
from quarterdeck.server.kinds.fields import get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.service_changes import validate_load_balancer_name
from quarterdeck.server.kinds.services import list_load_balancer_addresses
from quarterdeck.server.registry.printer import AGE, NAME, NONE, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_SHOWN_HOSTS = 3
_HOSTS_WIDTH = 16


# ingresses ---------------------------------------------------------------------------------------
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _validate_ingress(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    rules, backend = get_items(spec, "rules"), spec.get("defaultBackend")
    if not rules and backend is None:
        text = "either `defaultBackend` or `rules` must be specified"
        yield invalid("spec", Bare("[]networking.IngressRule(nil)"), text)
    if backend is not None:
        yield from _validate_backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        yield from _validate_rule(rule, f"spec.rules[{index}]")
    for index, entry in enumerate(get_items(spec, "tls")):
        for at, host in enumerate(entry.get("hosts") or ()):
            for problem in _validate_host(host):
                yield invalid(f"spec.tls[{index}].hosts[{at}]", host, problem)
        if secret := entry.get("secretName"):
            for problem in names.check_dns1123_subdomain(secret):
                yield invalid(f"spec.tls[{index}].secretName", secret, problem)
    if name := spec.get("ingressClassName"):
        for problem in names.check_dns1123_subdomain(name):
            yield invalid("spec.ingressClassName", name, problem)


def _validate_rule(rule: Object, path: str) -> Iterator[FieldError]:
    if host := rule.get("host"):
        if parse_address(host) is not None:
            yield invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        for problem in _validate_host(host):
            yield invalid(f"{path}.host", host, problem)
    http = rule.get("http")
    if http is None:
        return
    if not http.get("paths"):
        yield required(f"{path}.http.paths")
    for index, entry in enumerate(http.get("paths") or ()):
        yield from _validate_path(entry, f"{path}.http.paths[{index}]")


def _validate_host(host: str) -> list[str]:
    if "*" in host:
        return names.check_wildcard_subdomain(host)
    return names.check_dns1123_subdomain(host)


def _validate_path(entry: Object, path: str) -> Iterator[FieldError]:
    kind, text = entry.get("pathType"), entry.get("path") or ""
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
    elif kind not in _PATH_TYPES:
        yield not_supported(f"{path}.pathType", kind, _PATH_TYPES)
    elif (kind != "ImplementationSpecific" or text) and not text.startswith("/"):
        yield invalid(f"{path}.path", text, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for part in _BAD_PARTS:
            if part in text:
                yield invalid(f"{path}.path", text, f"must not contain '{part}'")
        for end in _BAD_ENDS:
            if text.endswith(end):
                yield invalid(f"{path}.path", text, f"cannot end with '{end}'")
    if kind is not None:
        yield from _validate_backend(get_mapping(entry, "backend"), f"{path}.backend")


def _validate_reference(reference: Object, path: str) -> Iterator[FieldError]:
    """Check an object that traffic is sent to in place of a service."""
    if group := reference.get("apiGroup"):
        for problem in names.check_dns1123_subdomain(group):
            yield invalid(f"{path}.apiGroup", group, problem)
    for member in ("kind", "name"):
        text = reference.get(member) or ""
        if not text:
            yield required(f"{path}.{member}", f"{member} is required")
        for problem in names.check_path_segment(text):
            yield invalid(f"{path}.{member}", text, problem)


def _validate_backend(backend: Object, path: str) -> Iterator[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        text = "cannot set both resource and service backends"
        yield invalid(path, "", text)
    elif service is None and resource is None:
        yield invalid(path, "", "resource or service backend is required")
    if resource is not None:
        yield from _validate_reference(resource, f"{path}.resource")
    if service is None:
        return
    name = service.get("name") or ""
    if not name:
        yield required(f"{path}.service.name")
    else:
        for problem in names.check_dns1035_label(name):
            yield invalid(f"{path}.service.name", name, problem)
    port = service.get("port") or {}
    if port.get("name") and port.get("number"):
        yield invalid(path, "", "cannot set both port name & port number")
    elif port.get("name"):
        for problem in validators.validate_port_name(port["name"]):
            yield invalid(f"{path}.service.port.name", port["name"], problem)
    elif port.get("number"):
        yield from validators.validate_port(f"{path}.service.port.number", port["number"])
    else:
        yield required(path, "port name or number is required")


def _build_ingress_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    rules = get_items(spec, "rules")
    address = ",".join(list_load_balancer_addresses(value))
    return (
        value["metadata"].get("name", ""),
        spec.get("ingressClassName") or NONE,
        _format_hosts(rules),
        address if len(address) <= _HOSTS_WIDTH else f"{address[: _HOSTS_WIDTH - 3]}...",
        "80, 443" if get_items(spec, "tls") else "80",
        format_creation_age(value, now),
    )


def _format_hosts(rules: Sequence[Any]) -> str:
    hosts = [rule["host"] for rule in rules if rule.get("host")]
    shown = ",".join(hosts[:_SHOWN_HOSTS])
    if not shown:
        return "*"
    return f"{shown} + {len(rules) - _SHOWN_HOSTS} more..." if len(hosts) > _SHOWN_HOSTS else shown


_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


def _find_ingress_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    if context.subresource or _CLASS_ANNOTATION not in get_mapping(
        value, "metadata", "annotations"
    ):
        return ()
    return [
        f'annotation "{_CLASS_ANNOTATION}" is deprecated, please use'
        " 'spec.ingressClassName' instead"
    ]


def _validate_status(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    for index, point in enumerate(get_items(value, "status", "loadBalancer", "ingress")):
        place = f"status.loadBalancer.ingress[{index}]"
        if (address := point.get("ip")) and parse_address(address) is None:
            yield invalid(f"{place}.ip", address, VALID_ADDRESS)
        yield from validate_load_balancer_name(point.get("hostname"), f"{place}.hostname")


INGRESS = Rules(
    validate=_validate_ingress,
    validate_status=_validate_status,
    warn=_find_ingress_warnings,
    generation_fields=("spec",),
    columns=(
        NAME,
        build_column("Class"),
        build_column("Hosts"),
        build_column("Address"),
        build_column("Ports"),
        AGE,
    ),
    cells=_build_ingress_cells,
    status_updates_labels=True,
)


def _validate_class(value: Object, context: Context) -> Iterator[FieldError]:
    controller = get_mapping(value, "spec").get("controller") or ""
    host, slash, path = controller.partition("/")
    if not controller:
        yield required("spec.controller")
    elif not (host and slash and path):
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield invalid("spec.controller", controller, text)
    else:
        for problem in names.check_dns1123_subdomain(host):
            yield invalid("spec.controller", host, problem)
    parameters = get_mapping(value, "spec").get("parameters")
    if parameters is not None:
        yield from _validate_parameters(parameters, "spec.parameters")


def _default_class(value: Object) -> None:
    parameters = get_mapping(value, "spec").get("parameters")
    if parameters is not None:
        set_defaults(parameters, scope="Cluster")


def _validate_parameters(parameters: Object, path: str) -> Iterator[FieldError]:
    group = parameters.get("apiGroup")
    if group is not None:
        for problem in names.check_dns1123_subdomain(group):
            yield invalid(f"{path}.apiGroup", group, problem)
    for member in ("kind", "name"):
        text = parameters.get(member)
        if not text:
            text = "" if has_feature("NewerTablesAndWords") else f"{member} is required"
            yield required(f"{path}.{member}", text)
        else:
            for problem in names.check_path_segment(text):
                yield invalid(f"{path}.{member}", text, problem)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope or "", _SCOPES)
    elif scope == "Cluster" and namespace is not None:
        yield forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif scope == "Namespace":
        yield from _validate_parameters_namespace(f"{path}.namespace", namespace)


def _validate_parameters_namespace(path: str, namespace: str | None) -> Iterator[FieldError]:
    if namespace is None:
        yield required(path, "`parameters.scope` is set to 'Namespace'")
        return
    for problem in names.check_dns1123_label(namespace):
        yield invalid(path, namespace, problem)


_SCOPES = ("Cluster", "Namespace")


def _build_class_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    parameters = spec.get("parameters")
    shown = NONE
    if parameters:
        group = parameters.get("apiGroup")
        kind = f"{parameters.get('kind')}.{group}" if group else parameters.get("kind")
        shown = f"{kind}/{parameters.get('name')}"
    name = value["metadata"].get("name", "")
    notes = get_mapping(value, "metadata", "annotations")
    if notes.get(_DEFAULT_CLASS) == "true" and has_feature("NewerTablesAndWords"):
        name += " (default)"
    return (
        name,
        spec.get("controller") or "",
        shown,
        format_creation_age(value, now),
    )


INGRESS_CLASS = Rules(
    default=_default_class,
    validate=_validate_class,
    validate_change=lambda value, old, context: validators.validate_immutable(
        "spec.controller",
        get_mapping(value, "spec").get("controller") or "",
        get_mapping(old, "spec").get("controller") or "",
    ),
    generation_fields=("spec",),
    columns=(NAME, build_column("Controller"), build_column("Parameters"), AGE),
    cells=_build_class_cells,
)
