"""NetworkPolicies: which pods may talk to which."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.addresses import validate_network
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.match_rules import format_go_list
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.templates import format_selector
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_TYPES = ("Ingress", "Egress")
_PROTOCOLS = ("TCP", "UDP", "SCTP")


def _default_policy(value: Object) -> None:
    spec = value.setdefault("spec", {})
    for member in ("ingress", "egress"):
        for rule in get_items(spec, member):
            for port in get_items(rule, "ports"):
                if not port.get("protocol"):
                    port["protocol"] = "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _validate_policy(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    yield from validators.validate_label_selector("spec.podSelector", spec.get("podSelector"))
    for member, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(get_items(spec, member)):
            place = f"spec.{member}[{index}]"
            for at, port in enumerate(get_items(rule, "ports")):
                yield from _validate_policy_port(port, f"{place}.ports[{at}]")
            for at, peer in enumerate(get_items(rule, peers)):
                yield from _validate_peer(peer, f"{place}.{peers}[{at}]")
    kinds = get_items(spec, "policyTypes")
    if len(kinds) > len(_TYPES):
        shown = format_go_list("networking.PolicyType", kinds)
        yield invalid("spec.policyTypes", shown, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(kinds):
        if kind not in _TYPES:
            yield not_supported(f"spec.policyTypes[{index}]", kind, _TYPES)


def _validate_policy_port(port: Object, path: str) -> Iterator[FieldError]:
    protocol, number, last = port.get("protocol"), port.get("port"), port.get("endPort")
    yield from validators.validate_enum(f"{path}.protocol", protocol, _PROTOCOLS)
    if number is not None:
        yield from validators.validate_port_or_name(f"{path}.port", number)
    if last is None:
        return
    if number is None:
        text = "may not be specified when `port` is not specified"
        yield invalid(f"{path}.endPort", last, text)
    elif isinstance(number, str):
        text = "may not be specified when `port` is non-numeric"
        yield invalid(f"{path}.endPort", last, text)
    else:
        if last < number:
            text = "must be greater than or equal to `port`"
            yield invalid(f"{path}.endPort", number, text)
        yield from validators.validate_port(f"{path}.endPort", last)


def _validate_peer(peer: Object, path: str) -> Iterator[FieldError]:
    block = peer.get("ipBlock")
    selects = [
        member for member in ("podSelector", "namespaceSelector") if peer.get(member) is not None
    ]
    for member in selects:
        yield from validators.validate_label_selector(f"{path}.{member}", peer.get(member))
    if block is not None:
        yield from _validate_block(block, f"{path}.ipBlock")
    if block is None and not selects:
        yield required(path, "must specify a peer")
    elif block is not None and selects:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _validate_block(block: Object, path: str) -> Iterator[FieldError]:
    text = block.get("cidr")
    if not text:
        yield required(f"{path}.cidr")
        return
    if has_feature("StrictIPCIDRValidation"):
        yield from validate_network(f"{path}.cidr", text)
        text = names.strip_zeros(text)
    network = validators.parse_network(text)
    if network is None:
        if not has_feature("StrictIPCIDRValidation"):
            yield invalid(f"{path}.cidr", text, validators.VALID_NETWORK)
        return
    for index, each in enumerate(get_items(block, "except")):
        place, part = f"{path}.except[{index}]", validators.parse_network(each)
        if part is None:
            yield invalid(place, each, validators.VALID_NETWORK)
        elif not _is_strict_subset(part, network):
            yield invalid(place, each, "must be a strict subset of `cidr`")


def _is_strict_subset(part: validators.Network, whole: validators.Network) -> bool:
    return part.network_address in whole and part.prefixlen > whole.prefixlen


def _build_policy_cells(value: Object, now: datetime) -> Sequence[object]:
    selector = get_mapping(value, "spec").get("podSelector")
    return (
        value["metadata"].get("name", ""),
        format_selector(selector),
        format_creation_age(value, now),
    )


NETWORK_POLICY = Rules(
    default=_default_policy,
    validate=_validate_policy,
    validates_twice=True,
    generation_fields=("spec",),
    columns=(NAME, build_column("Pod-Selector"), AGE),
    cells=_build_policy_cells,
)
