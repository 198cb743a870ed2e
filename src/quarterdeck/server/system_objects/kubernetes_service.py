"""The Service `kubernetes` in the namespace `default`, and its endpoints."""

from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.ip_address import parse_address
from quarterdeck.server.admission.plugins.service_addresses import parse_network
from quarterdeck.server.core import Core
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.system_objects.objects import complete_metadata, create_missing
from quarterdeck.storage import StoreKey, Ticket

NAME, NAMESPACE = "kubernetes", "default"
DEFAULT_PORT = 6443
_SLICES = "endpointslices.discovery.k8s.io"


def create_service(core: Core) -> list[Ticket]:
    """Create the Service by which clients inside of a cluster reach the API."""
    address = str(parse_network(core.options.service_cluster_ip_range)[1])
    port = {"name": "https", "protocol": "TCP", "port": 443, "targetPort": DEFAULT_PORT}
    value: Object = {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "ports": [port],
            "clusterIP": address,
            "clusterIPs": [address],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": ["IPv6" if ":" in address else "IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    }
    return create_missing(core, "services", [value])


async def publish_address(core: Core, host: str, port: int) -> None:
    """Write the address of the API to the Endpoints and the EndpointSlice of the Service.

    Nothing is written if `host` is a name, because endpoints need an IP address.
    """
    address = parse_address(host)
    if address is None:
        return
    family = f"IPv{address.version}"
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    endpoints: Object = {
        "kind": "Endpoints",
        "apiVersion": "v1",
        "metadata": _build_metadata({"endpointslice.kubernetes.io/skip-mirror": "true"}),
        "subsets": [{"addresses": [{"ip": host}], "ports": ports}],
    }
    endpoint_slice: Object = {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": _build_metadata({"kubernetes.io/service-name": NAME}) | {"generation": 1},
        "addressType": family,
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": ports,
    }
    await _put(core, "endpoints", endpoints)
    await _put(core, _SLICES, endpoint_slice)


def _build_metadata(labels: dict[str, str]) -> dict[str, Any]:
    return {"name": NAME, "namespace": NAMESPACE, "labels": labels}


async def _put(core: Core, resource: str, value: Object) -> None:
    """Create the object, or update the one of an earlier start."""
    key = StoreKey(resource, NAMESPACE, NAME)
    entry = core.store.get(key)
    if entry is None:
        await core.store.put(key, build_encoder(complete_metadata(core, value)), expected=0)
        return
    stored: Object = kit_json.decode(entry.value)
    changed = {**stored, **{name: each for name, each in value.items() if name != "metadata"}}
    if changed != stored:
        await core.store.put(key, build_encoder(changed), expected=entry.revision)
