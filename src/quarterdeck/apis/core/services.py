"""Services and the addresses behind them."""

from collections.abc import Mapping

import msgspec

from quarterdeck.apis.core.references import ObjectReference
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import Int32, IntOrString
from quarterdeck.meta.objects import Object, Struct


class ServicePort(Struct, frozen=True, kw_only=True):
    """One port of a service."""

    port: Int32
    name: str = ""
    protocol: str = ""
    app_protocol: str | None = None
    target_port: IntOrString | None = None
    node_port: Int32 = 0


class ServiceSpec(Struct, frozen=True, kw_only=True):
    """What a service should be."""

    ports: tuple[ServicePort, ...] = ()
    selector: Mapping[str, str] = {}
    type: str = ""
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    cluster_ips: tuple[str, ...] = msgspec.field(name="clusterIPs", default=())
    external_ips: tuple[str, ...] = msgspec.field(name="externalIPs", default=())
    external_name: str = ""
    external_traffic_policy: str = ""
    internal_traffic_policy: str | None = None
    session_affinity: str = ""
    load_balancer_ip: str = msgspec.field(name="loadBalancerIP", default="")
    load_balancer_class: str | None = None
    ip_families: tuple[str, ...] = ()
    ip_family_policy: str | None = None
    publish_not_ready_addresses: bool = False


class LoadBalancerIngress(Struct, frozen=True, kw_only=True):
    """One address of a load balancer."""

    ip: str = ""
    hostname: str = ""


class LoadBalancerStatus(Struct, frozen=True, kw_only=True):
    """The addresses of a load balancer."""

    ingress: tuple[LoadBalancerIngress, ...] = ()


class ServiceStatus(Struct, frozen=True, kw_only=True):
    """What a service is."""

    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Service(Object, frozen=True, kw_only=True):
    """A stable address for a set of pods."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="Service",
        plural="services",
        singular="service",
        short_names=("svc",),
        categories=("all",),
    )
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class EndpointAddress(Struct, frozen=True, kw_only=True):
    """One address behind a service."""

    ip: str
    hostname: str = ""
    node_name: str | None = None
    target_ref: ObjectReference | None = None


class EndpointPort(Struct, frozen=True, kw_only=True):
    """One port behind a service."""

    port: Int32
    name: str = ""
    protocol: str = ""


class EndpointSubset(Struct, frozen=True, kw_only=True):
    """Addresses that share their ports."""

    addresses: tuple[EndpointAddress, ...] = ()
    not_ready_addresses: tuple[EndpointAddress, ...] = ()
    ports: tuple[EndpointPort, ...] = ()


class Endpoints(Object, frozen=True, kw_only=True):
    """The addresses behind a service."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="Endpoints",
        plural="endpoints",
        singular="endpoints",
        short_names=("ep",),
        subresource_status=False,
    )
    subsets: tuple[EndpointSubset, ...] = ()
