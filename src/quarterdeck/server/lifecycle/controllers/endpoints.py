"""The endpoints controller: Endpoints and EndpointSlices from the pods a Service selects."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quarterdeck.kit.digits import parse_digits
from quarterdeck.server.lifecycle.engine.actions import Action, Create
from quarterdeck.server.lifecycle.engine.controller import list_metas
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    build_owner_reference,
    delete,
    get_controller_key,
    get_labels,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    get_uid,
    is_controlled_by,
    is_deleting,
    is_true,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey
from quarterdeck.wire.label_selector import Selector

SERVICES = "services"
PODS = "pods"
ENDPOINTS = "endpoints"
SLICES = "endpointslices.discovery.k8s.io"
_PER_SLICE = 100
_SERVICE_NAME = "kubernetes.io/service-name"
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_MANAGER = "endpointslice-controller.k8s.io"
_HEADLESS = "service.kubernetes.io/headless"


class ServiceEndpoints:
    """Keeps the Endpoints and EndpointSlices of every Service with a selector up to date."""

    name = "endpoint-controller"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({SERVICES, PODS, ENDPOINTS, SLICES})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find a written service, services that select a pod, and owners of deleted endpoints."""
        key = event.key
        if key.resource == SERVICES:
            yield key
        elif key.resource == PODS:
            for object_meta in list_metas(event):
                yield from index.find_selecting(SERVICES, key.namespace, object_meta.labels)
        elif event.after is None:
            if key.resource == ENDPOINTS:
                yield StoreKey(SERVICES, key.namespace, key.name)
                return
            for object_meta in list_metas(event):
                owner = get_controller_key(object_meta, "Service", SERVICES, key.namespace)
                if owner is not None:
                    yield owner

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Bring the endpoints of one service up to date."""
        service = view.get(key)
        if service is None:
            present = view.get(StoreKey(ENDPOINTS, key.namespace, key.name))
            return [] if present is None or is_deleting(present) else [delete(ENDPOINTS, present)]
        selector = get_spec(service).get("selector")
        if not selector or get_spec(service).get("type") == "ExternalName" or is_deleting(service):
            return ()
        pods = view.select(PODS, key.namespace, Selector.of(selector))
        places = [place for pod in pods if (place := _build_place(service, pod)) is not None]
        return [*_plan_endpoints(view, service, places), *_plan_slices(view, service, places)]


class _Place(NamedTuple):
    """One pod behind a service."""

    ports: tuple[tuple[str, int, str], ...]
    address: str
    node: str
    target: Object
    is_ready: bool
    is_terminating: bool


def _build_place(service: Object, pod: Object) -> _Place | None:
    address = get_status(pod).get("podIP")
    if not address or get_status(pod).get("phase") in ("Succeeded", "Failed"):
        return None
    target = {
        "kind": "Pod",
        "namespace": get_namespace(pod),
        "name": get_name(pod),
        "uid": get_uid(pod),
    }
    is_ready = is_true(get_status(pod).get("conditions"), "Ready")
    return _Place(
        ports=tuple(_list_ports(service, pod)),
        address=address,
        node=get_spec(pod).get("nodeName") or "",
        target=target,
        is_ready=is_ready or bool(get_spec(service).get("publishNotReadyAddresses")),
        is_terminating=is_deleting(pod),
    )


def _list_ports(service: Object, pod: Object) -> Iterator[tuple[str, int, str]]:
    for port in get_spec(service).get("ports") or ():
        protocol = port.get("protocol") or "TCP"
        number = _resolve_port(port.get("targetPort") or port.get("port"), pod, protocol)
        if number is not None:
            yield (port.get("name") or "", number, protocol)


def _resolve_port(target: int | str, pod: Object, protocol: str) -> int | None:
    """Resolve a port by number, or by the name a container gives it."""
    if isinstance(target, int):
        return target
    for container in get_spec(pod).get("containers") or ():
        for port in container.get("ports") or ():
            if port.get("name") == target and (port.get("protocol") or "TCP") == protocol:
                return int(port["containerPort"])
    return parse_digits(target)


# Endpoints ---------------------------------------------------------------------------------------


def _plan_endpoints(view: View, service: Object, places: list[_Place]) -> Iterator[Action]:
    subsets = _build_subsets([place for place in places if not place.is_terminating])
    carried = dict(get_labels(service)) | _build_labels(service)
    present = view.get(StoreKey(ENDPOINTS, get_namespace(service), get_name(service)))
    if present is None:
        metadata: Object = {"name": get_name(service), "namespace": get_namespace(service)}
        if carried:
            metadata["labels"] = carried
        value: Object = {"kind": "Endpoints", "apiVersion": "v1", "metadata": metadata}
        yield Create(ENDPOINTS, value | ({"subsets": subsets} if subsets else {}))
        return
    if (present.get("subsets") or []) != subsets or get_labels(present) != carried:
        yield update(ENDPOINTS, present, metadata={"labels": carried or None}, subsets=subsets)


def _build_labels(service: Object) -> dict[str, str]:
    return {_HEADLESS: ""} if get_spec(service).get("clusterIP") == "None" else {}


def _build_subsets(places: list[_Place]) -> list[Object]:
    by_ports: dict[tuple[tuple[str, int, str], ...], list[_Place]] = {}
    for place in places:
        by_ports.setdefault(place.ports, []).append(place)
    return [_build_subset(ports, by_ports[ports]) for ports in sorted(by_ports)]


def _build_subset(ports: tuple[tuple[str, int, str], ...], places: list[_Place]) -> Object:
    subset: Object = {}
    for member, is_ready in (("addresses", True), ("notReadyAddresses", False)):
        chosen = [_build_address(place) for place in places if place.is_ready is is_ready]
        if chosen:
            subset[member] = sorted(chosen, key=lambda each: str(each["ip"]))
    if ports:
        subset["ports"] = [_build_port(each) for each in ports]
    return subset


def _build_address(place: _Place) -> Object:
    node = {"nodeName": place.node} if place.node else {}
    return {"ip": place.address, **node, "targetRef": place.target}


def _build_port(port: tuple[str, int, str]) -> Object:
    name_, number, protocol = port
    return {**({"name": name_} if name_ else {}), "port": number, "protocol": protocol}


# EndpointSlices ----------------------------------------------------------------------------------


def _plan_slices(view: View, service: Object, places: list[_Place]) -> Iterator[Action]:
    present = [
        each
        for each in view.list_owned(get_uid(service), SLICES)
        if is_controlled_by(each, service) and get_labels(each).get(_MANAGED_BY) == _MANAGER
    ]
    wanted = _build_slices(places)
    for index, content in enumerate(wanted):
        if index >= len(present):
            yield Create(SLICES, _build_slice(service, content))
        elif any(present[index].get(member) != value for member, value in content.items()):
            yield update(SLICES, present[index], **content)
    for surplus in present[len(wanted) :]:
        if not is_deleting(surplus):
            yield delete(SLICES, surplus)


def _build_slices(places: list[_Place]) -> list[Object]:
    by_ports: dict[tuple[tuple[str, int, str], ...], list[_Place]] = {}
    for place in places:
        by_ports.setdefault(place.ports, []).append(place)
    slices = []
    for ports in sorted(by_ports):
        chosen = by_ports[ports]
        for start in range(0, len(chosen), _PER_SLICE):
            part = chosen[start : start + _PER_SLICE]
            slices.append(_build_slice_content(ports, part))
    return slices or [_build_slice_content((), [])]


def _build_slice_content(ports: tuple[tuple[str, int, str], ...], places: list[_Place]) -> Object:
    return {
        "endpoints": [_build_endpoint(place) for place in places],
        "ports": [{"name": "", **_build_port(each)} for each in ports],
    }


def _build_endpoint(place: _Place) -> Object:
    conditions = {
        "ready": place.is_ready and not place.is_terminating,
        "serving": place.is_ready,
        "terminating": place.is_terminating,
    }
    node = {"nodeName": place.node} if place.node else {}
    return {
        "addresses": [place.address],
        "conditions": conditions,
        "targetRef": place.target,
        **node,
    }


def _build_slice(service: Object, content: Object) -> Object:
    return {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": {
            "generateName": f"{get_name(service)}-",
            "namespace": get_namespace(service),
            "labels": {
                **get_labels(service),
                **_build_labels(service),
                _SERVICE_NAME: get_name(service),
                _MANAGED_BY: _MANAGER,
            },
            "ownerReferences": [build_owner_reference(service)],
        },
        "addressType": "IPv4",
        **content,
    }
