"""Composes the bootstrap service, for `quarterdeck bootstrap` and for `up`.

`cryptography` costs more start-up time than the API server, so `up` loads the service when
everything else is ready.
"""

import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

import msgspec

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.app import bootstrap_manifests, definitions
from quarterdeck.app.errors import StartError
from quarterdeck.app.host import Endpoint, Host
from quarterdeck.app.installation import DEFAULT_INSTALLATION, NAMESPACE
from quarterdeck.app.machines_settings import MAX_CERTIFICATE_S, Settings
from quarterdeck.app.ports import DRAIN_S, HOST, check_port, listen
from quarterdeck.app.signals import StopSignal
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import Impersonation
from quarterdeck.client.config.locate import load_config
from quarterdeck.client.errors import ClientError
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.operators.machines.drivers.bootstrap import CONFIG_MAP, BootstrapClient
from quarterdeck.runtime import get_logger
from quarterdeck.wire.status import ApiError

FLAG = "--bootstrap-port"
_IN_VM = "https://10.0.2.2:{port}"
"""The address of this machine for VMs with QEMU's user networking."""
_AFTER_S = 1.0
"""Seconds after the start of `up` until the service is loaded."""


class ServiceAddress(NamedTuple):
    """Where the service listens, and by which names machines reach it."""

    host: str
    port: int
    flag: str
    names: tuple[str, ...] = ()
    url: str = ""
    """URL for the operator; empty means the address it listens on."""
    machine_url: str = ""
    """URL for machines; empty means the same as `url`."""
    certificate_s: int = MAX_CERTIFICATE_S
    """How long certificates of machines are valid."""


async def open_bootstrap(
    client: Client,
    address: ServiceAddress,
    stack: contextlib.AsyncExitStack,
    *,
    namespace: str = NAMESPACE,
    clock: Clock,
) -> tuple[http.Listener, Supervisor]:
    """Open the authority and listen; it is closed with the stack.

    The work in the background must be watched: without it the certificate of the service expires.

    Raises:
        StartError: if the port or the API server cannot be used.
    """
    from quarterdeck.runtime.endpoints.authorization import DelegatingAuthorizer
    from quarterdeck.services.bootstrap.drivers.authority import SecretAuthority
    from quarterdeck.services.bootstrap.drivers.claims import KubeClaims
    from quarterdeck.services.bootstrap.drivers.github import GithubRegistrar
    from quarterdeck.services.bootstrap.drivers.tokens import SecretTokens
    from quarterdeck.services.bootstrap.issuer import Issuer
    from quarterdeck.services.bootstrap.methods import load_methods
    from quarterdeck.services.bootstrap.service import LIMITS, BootstrapService, Stores
    from quarterdeck.services.bootstrap.serving import ServingTls

    lifetime = timedelta(seconds=address.certificate_s)
    issuer = Issuer(SecretAuthority(client, namespace), clock=clock, lifetime=lifetime)
    tls = ServingTls(issuer, _list_names(address, namespace), clock=clock)
    try:
        await tls.refresh()
    except (ApiError, ClientError) as error:
        raise StartError(
            f"cannot open the authority of machines in namespace {namespace}: {error}; check "
            "that the namespace exists and that the service is allowed to write Secrets in it"
        ) from error
    claims = KubeClaims(client, clock=clock)
    github = await stack.enter_async_context(http.Client())
    registrar = GithubRegistrar(client, github, clock=clock)
    methods = load_methods(warn=_warn_of_method)
    stores = Stores(claims, SecretTokens(client, namespace), issuer, registrar, methods)
    authorizer = DelegatingAuthorizer(client.raw, clock, random.Random())
    service = BootstrapService(stores, authorizer, clock=clock)
    server = http.Server(service.handle, limits=LIMITS, clock=clock)
    listener = await listen(server, address.port, address.flag, tls=tls.context, host=address.host)
    stack.push_async_callback(server.drain, DRAIN_S)
    url = address.url or listener.url
    machine_url = (address.machine_url or url).replace("{port}", str(listener.port))
    data = {"ca.crt": await issuer.read_bundle(), "url": url, "machineURL": machine_url}
    await _publish(client, namespace, data)
    tasks = await stack.enter_async_context(Supervisor("bootstrap"))
    tasks.spawn(service.run(), name="bootstrap-tokens")
    tasks.spawn(claims.run(), name="bootstrap-claims")
    tasks.spawn(tls.run(), name="bootstrap-tls")
    return listener, tasks


def _warn_of_method(name: str, problem: str) -> None:
    get_logger("bootstrap").warning("attestation method not used", method=name, detail=problem)


async def _publish(client: Client, namespace: str, data: Mapping[str, str]) -> None:
    """Publish the addresses and the CA of the service; none of them is secret."""
    metadata = {"name": CONFIG_MAP, "namespace": namespace}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}
    maps = client.resource(ConfigMap.KIND.gvr)
    try:
        await maps.apply(document, manager=bootstrap_manifests.NAME, force=True)
    except (ApiError, ClientError) as error:
        raise StartError(f"cannot write ConfigMap {namespace}/{CONFIG_MAP}: {error}") from error


class BootstrapSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `quarterdeck bootstrap`."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    """Namespace of tokens and CA; empty means that of the pod, or the default one."""
    host: str = HOST
    port: int = 8445
    names: tuple[str, ...] = ()
    url: str = ""
    machine_url: str = ""
    certificate_s: int = MAX_CERTIFICATE_S


async def serve_bootstrap(
    settings: BootstrapSettings, *, print_line: Callable[[str], None]
) -> None:
    """Serve until a signal asks to stop.

    Raises:
        StartError: if the port or the API server cannot be used.
        Interrupted: if a signal came before it was ready.
    """
    clock = SystemClock()
    check_port(settings.port, "--port", host=settings.host)
    async with StopSignal() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            try:
                config = load_config(settings.kubeconfig or None, context=settings.context)
            except ClientError as error:
                raise StartError(str(error)) from error
            client = await stack.enter_async_context(Client(config, clock=clock))
            address = ServiceAddress(
                settings.host,
                settings.port,
                "--port",
                settings.names,
                settings.url,
                settings.machine_url,
                settings.certificate_s,
            )
            listener, tasks = await open_bootstrap(
                client, address, stack, namespace=settings.namespace or NAMESPACE, clock=clock
            )
        print_line(f"listening on {listener.url}")
        await stop.wait(tasks)


async def attach(host: Host) -> None:
    """Run the service in `up`, with the rights it has in a cluster."""
    port = host.settings.bootstrap_port
    await definitions.apply(
        host.admin.raw, [*bootstrap_manifests.build_permissions(DEFAULT_INSTALLATION).values()]
    )
    account = f"system:serviceaccount:{NAMESPACE}:{bootstrap_manifests.NAME}"
    groups = (f"system:serviceaccounts:{NAMESPACE}", "system:serviceaccounts")
    client = host.admin.impersonate(
        Impersonation(user=account, groups=(*groups, "system:authenticated"))
    )
    host.stack.push_async_callback(client.aclose)
    certificate_s = host.get_settings(Settings).machine_certificate_seconds
    address = ServiceAddress(HOST, port, FLAG, machine_url=_IN_VM, certificate_s=certificate_s)
    if port:
        url = f"https://{HOST}:{port}"
        host.endpoints.append(Endpoint("bootstrap", url, "attestation of machines"))

    async def run() -> None:
        await host.clock.sleep(_AFTER_S)
        async with contextlib.AsyncExitStack() as stack:
            try:
                listener, tasks = await open_bootstrap(client, address, stack, clock=host.clock)
            except StartError as error:
                get_logger("bootstrap").error("bootstrap service cannot start", detail=str(error))
                return
            if not port and host.print_line is not None:
                now = host.clock.now()
                host.print_line(f"  {now:%H:%M:%S}  bootstrap service on {listener.url}")
            await tasks.wait_failed()  # or until the manager stops

    host.manager.add_runnable("bootstrap", run)


def build_inviter(client: Client, namespace: str = NAMESPACE) -> BootstrapClient:
    """Build the operator's client of the service, with its credentials for the API server."""
    config = client.config

    def read_token() -> str:
        if config.token_file is not None:
            with open(config.token_file, encoding="ascii") as file:
                return file.read().strip()
        return config.token.reveal() if config.token is not None else ""

    return BootstrapClient(client, namespace, read_token=read_token)


def _list_names(address: ServiceAddress, namespace: str) -> Sequence[str]:
    """The host names and addresses by which machines and pods reach the service."""
    service = f"{bootstrap_manifests.NAME}.{namespace}"
    return (
        *address.names,
        "localhost",
        "127.0.0.1",
        "::1",
        "10.0.2.2",  # this machine, as VMs with user networking of QEMU see it
        service,
        f"{service}.svc",
        f"{service}.svc.cluster.local",
    )
