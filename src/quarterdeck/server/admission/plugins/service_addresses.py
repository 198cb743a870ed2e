"""Service addresses: allocates cluster IPs and node ports, and releases them with the service.

The search starts at a place that depends on the service's name only, so the same manifests get the
same addresses in every run. Addresses in use are read from the store at first use and followed from
there. An address allocated for a write that is not stored yet is reserved for as long as that write
is being decided: a dry run or a write that is refused takes none away.
"""

import ipaddress
import itertools
import weakref
import zlib
from collections.abc import Sequence
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.ip_address import parse_address
from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.ip_families import init_ip_families
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store, StoreEvent
from quarterdeck.wire.status import Invalid

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
DEFAULT_NETWORK = ipaddress.IPv4Network("10.96.0.0/12")
NODE_PORTS = range(30000, 32768)
_RESERVED_ADDRESSES = 16
"""The first addresses are given only to services that request one, such as the API or DNS."""
_FEWEST_ADDRESSES = 8

Holder = tuple[str, str]
"""Namespace and name of a service."""


def parse_network(text: str) -> Network:
    """Parse `--service-cluster-ip-range`; of a list, only the first network is used.

    Raises:
        ValueError: if it is not a network, or has too few addresses.
    """
    first = text.split(",")[0].strip()
    try:
        network = ipaddress.ip_network(first)
    except ValueError as error:
        raise ValueError(
            f"invalid --service-cluster-ip-range {first!r}: {error}; expected a network such as"
            " 10.96.0.0/12"
        ) from error
    if network.num_addresses < _FEWEST_ADDRESSES:
        raise ValueError(
            f"invalid --service-cluster-ip-range {first!r}: the network has"
            f" {network.num_addresses} addresses; at least {_FEWEST_ADDRESSES} are needed"
        )
    return network


class _Reservation:
    """Keeps a value for a service, for as long as one of its writes refers to this."""

    __slots__ = ("__weakref__", "holder")

    def __init__(self, holder: Holder) -> None:
        self.holder = holder


class AllocationPool:
    """Allocated addresses or node ports, each held by one service."""

    def __init__(self) -> None:
        self._held: dict[Any, Holder] = {}
        self._reserved: weakref.WeakValueDictionary[Any, _Reservation] = (
            weakref.WeakValueDictionary()
        )
        self._writes: weakref.WeakKeyDictionary[AdmissionAttributes, set[_Reservation]] = (
            weakref.WeakKeyDictionary()
        )
        """The reservations of each write that is being decided."""

    def is_free(self, value: Any, holder: Holder, write: AdmissionAttributes) -> bool:
        """Whether a value is free for a write of a service, or is already its own.

        Another write of the same service may be on its way, or be what this one repeats. A service
        without a name has another holder in each round of admission.
        """
        reserved = self._reserved.get(value)
        is_own = (
            reserved is None or reserved.holder == holder or reserved in self._writes.get(write, ())
        )
        return is_own and self._held.get(value, holder) == holder

    def reserve(self, value: Any, holder: Holder, write: AdmissionAttributes) -> None:
        """Reserve a value until this write, and others of the service, have been decided."""
        reserved = self._reserved.get(value)
        if reserved is None:
            reserved = self._reserved[value] = _Reservation(holder)
        self._writes.setdefault(write, set()).add(reserved)

    def allocate(self, values: Sequence[Any], holder: Holder) -> None:
        """Record the values of a stored service."""
        for value in values:
            self._held[value] = holder

    def release(self, values: Sequence[Any], holder: Holder) -> None:
        """Free the values that a service held."""
        for value in values:
            if self._held.get(value) == holder:
                del self._held[value]


class ServiceAddresses(MutatingPlugin):
    """Allocates cluster IPs and node ports of services."""

    resources = frozenset({"services"})

    def __init__(self, store: Store, network: Network = DEFAULT_NETWORK) -> None:
        self._store = store
        self._network = network
        self._addresses = AllocationPool()
        self._ports = AllocationPool()
        self._follows = False
        self._numbers = itertools.count(1)
        """Numbers for services whose names are generated later; so they begin at other places."""

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Fill in addresses and node ports of a service.

        Raises:
            Invalid: for an address or port that is taken or out of range.
        """
        if attributes.resource.gvr.group_resource != "services" or attributes.subresource:
            return
        service = attributes.value
        if service is None or attributes.verb not in ("create", "update"):
            return
        self._subscribe()
        spec = service.setdefault("spec", {})
        before = get_mapping(attributes.old or {}, "spec")
        holder = (attributes.namespace, attributes.name or self._build_place(service))
        if spec.get("type") != "ExternalName":
            if errors := init_ip_families(spec, before, (f"IPv{self._network.version}",)):
                raise Invalid.of("Service", attributes.name, errors)
            if not before.get("clusterIP"):
                self._set_address(spec, holder, attributes)
        if spec.get("type") in ("NodePort", "LoadBalancer"):
            self._set_ports(spec, before, holder, attributes)

    def _build_place(self, service: Object) -> str:
        """Build what stands for a name that is not generated yet; no service has such a name."""
        return f"{service['metadata'].get('generateName', '')}/{next(self._numbers)}"

    # addresses -----------------------------------------------------------------------------------

    def _set_address(self, spec: Object, holder: Holder, attributes: AdmissionAttributes) -> None:
        wanted = spec.get("clusterIP") or ""
        if wanted and wanted != "None":
            self._check(wanted, holder, attributes)
        address = wanted or self._allocate_address(holder, attributes)
        if address != "None":
            self._addresses.reserve(address, holder, attributes)
        spec["clusterIP"] = address
        spec["clusterIPs"] = spec.get("clusterIPs") or [address]

    def _check(self, wanted: str, holder: Holder, attributes: AdmissionAttributes) -> None:
        problem = _check_address(wanted, self._network)
        if not problem and not self._addresses.is_free(wanted, holder, attributes):
            problem = "provided IP is already allocated"
        if problem:
            text = f"failed to allocate IP {wanted}: {problem}"
            errors: list[FieldError] = [
                invalid("spec.clusterIPs", validators.format_go_strings([wanted]), text)
            ]
            raise Invalid.of("Service", attributes.name, errors)

    def _allocate_address(self, holder: Holder, write: AdmissionAttributes) -> str:
        reserved = min(_RESERVED_ADDRESSES, self._network.num_addresses // 2)
        size = self._network.num_addresses - reserved - 1
        start = zlib.crc32("/".join(holder).encode()) % size
        for step in range(size):
            address = str(self._network[reserved + (start + step) % size])
            if self._addresses.is_free(address, holder, write):
                return address
        raise Invalid.of(
            "Service",
            holder[1],
            [invalid("spec.clusterIPs", validators.format_go_strings([]), "range is full")],
        )

    # node ports ----------------------------------------------------------------------------------

    def _set_ports(
        self, spec: Object, before: Object, holder: Holder, write: AdmissionAttributes
    ) -> None:
        kept = {
            (each.get("port"), each.get("protocol")): each.get("nodePort")
            for each in get_items(before, "ports")
        }
        for index, port in enumerate(get_items(spec, "ports")):
            known = kept.get((port.get("port"), port.get("protocol")))
            if not port.get("nodePort") and known:
                port["nodePort"] = known
            if not port.get("nodePort"):
                port["nodePort"] = self._allocate_port(holder, index, write)
            elif text := self._check_port(port["nodePort"], holder, write):
                place = f"spec.ports[{index}].nodePort"
                raise Invalid.of("Service", holder[1], [invalid(place, port["nodePort"], text)])
            self._ports.reserve(port["nodePort"], holder, write)

    def _check_port(self, port: int, holder: Holder, write: AdmissionAttributes) -> str:
        if port not in NODE_PORTS:
            return (
                "provided port is not in the valid range. The range of valid ports is"
                f" {NODE_PORTS[0]}-{NODE_PORTS[-1]}"
            )
        return (
            "" if self._ports.is_free(port, holder, write) else "provided port is already allocated"
        )

    def _allocate_port(self, holder: Holder, index: int, write: AdmissionAttributes) -> int:
        start = zlib.crc32(f"{holder[0]}/{holder[1]}/{index}".encode()) % len(NODE_PORTS)
        for step in range(len(NODE_PORTS)):
            port = NODE_PORTS[(start + step) % len(NODE_PORTS)]
            if self._ports.is_free(port, holder, write):
                return port
        raise Invalid.of("Service", holder[1], [invalid("spec.ports", index, "range is full")])

    # what is taken -------------------------------------------------------------------------------

    def _subscribe(self) -> None:
        """Read the allocated addresses once, then follow the store."""
        if self._follows:
            return
        self._follows = True
        for entry in self._store.snapshot().range("services", None, after=None, limit=None):
            self._hold((entry.key.namespace, entry.key.name), entry.value)
        self._store.subscribe(self._apply_events)

    def _apply_events(self, events: Sequence[StoreEvent]) -> None:
        for event in events:
            if event.key.resource != "services":
                continue
            holder = (event.key.namespace, event.key.name)
            if event.before is not None:
                spec = get_mapping(kit_json.decode(event.before.value), "spec")
                self._addresses.release(get_items(spec, "clusterIPs"), holder)
                self._ports.release(_get_node_ports(spec), holder)
            if event.after is not None:
                self._hold(holder, event.after.value)

    def _hold(self, holder: Holder, value: bytes) -> None:
        spec = get_mapping(kit_json.decode(value), "spec")
        addresses = [each for each in get_items(spec, "clusterIPs") if each != "None"]
        self._addresses.allocate(addresses, holder)
        self._ports.allocate(_get_node_ports(spec), holder)


def _get_node_ports(spec: Object) -> list[int]:
    return [each["nodePort"] for each in get_items(spec, "ports") if each.get("nodePort")]


def _check_address(text: str, network: Network) -> str:
    address = parse_address(text)
    if address is None:
        return "not a valid IP"
    if address not in network:
        return (
            f"the provided IP ({text}) is not in the valid range. The range of valid IPs is"
            f" {network}"
        )
    return ""
