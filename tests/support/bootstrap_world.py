"""Bootstrap services over TLS on an API server of their own, and the machines that call them."""

import contextlib
import random
import ssl
import tempfile
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http, json
from quarterdeck.kit.certificate import encode_key
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.endpoints.authorization import DelegatingAuthorizer
from quarterdeck.services.bootstrap.drivers.authority import SecretAuthority
from quarterdeck.services.bootstrap.drivers.claims import KubeClaims
from quarterdeck.services.bootstrap.drivers.github import GithubRegistrar
from quarterdeck.services.bootstrap.drivers.tokens import SecretTokens
from quarterdeck.services.bootstrap.issuer import LIFETIME, Issuer
from quarterdeck.services.bootstrap.limiter import Limits
from quarterdeck.services.bootstrap.machine_calls import HEARTBEAT_S
from quarterdeck.services.bootstrap.methods import AttestationMethod
from quarterdeck.services.bootstrap.service import LIMITS, BootstrapService, Stores
from quarterdeck.services.bootstrap.serving import ServingTls
from quarterdeck.wire.path import ResourcePath

NAMESPACE = "quarterdeck-system"
API = "hypervisor.hyperfleet.io/v1alpha1"
PATIENCE_S = 240.0
"""How long a loaded machine may take for a request; no test is about this."""
PATIENT_LIMITS = msgspec.structs.replace(
    LIMITS, header_timeout_s=PATIENCE_S, body_timeout_s=PATIENCE_S
)
GENEROUS = Limits(per_address_s=1000, address_burst=1000, all_s=1000, all_burst=1000)


class ShiftedClock(SystemClock):
    """The real clock, but later."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = timedelta()
        self.jump = timedelta()
        """How wrong the time of day is; the monotonic clock knows nothing of it."""

    def now(self) -> datetime:
        return super().now() + self.shift + self.jump

    def monotonic(self) -> float:
        return super().monotonic() + self.shift.total_seconds()


class Answer(msgspec.Struct, frozen=True):
    """A status and a decoded body."""

    status: int
    body: dict[str, Any]


class Machine:
    """A key, its certificate request, and a certificate once there is one."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
        self.csr = request.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()
        self.certificate = ""

    def take(self, credentials: dict[str, Any]) -> None:
        """Keep the certificate with its chain."""
        self.certificate = credentials["certificate"] + "".join(credentials["chain"])


class Replica:
    """One running service."""

    def __init__(self, service: BootstrapService, url: str, bundle: str, tls: ServingTls) -> None:
        self.tls = tls
        self.service = service
        self.url = url
        self.bundle = bundle

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        machine: Machine | None = None,
        token: str = "",
    ) -> Answer:
        """One request on a connection of its own."""
        data = body if isinstance(body, bytes) else json.encode(body) if body is not None else None
        headers = [("Authorization", f"Bearer {token}")] if token else []
        tls = self.build_context(machine)
        async with (
            contextlib.aclosing(http.Client(tls=tls)) as client,
            await client.request(method, self.url + path, headers=headers, body=data) as response,
        ):
            text = await response.read()
            is_json = text[:1] == b"{"
            return Answer(
                response.status, json.decode(text) if is_json else {"text": text.decode()}
            )

    async def call_from(self, address: str, path: str, body: object) -> Answer:
        """One request as if it came from another address; the network is not part of it."""
        peer = http.Peer(f"{address}:40000", secure=True)
        request = http.Request.of("POST", path, body=json.encode(body), peer=peer)
        response = await self.service.handle(request)
        assert isinstance(response.body, bytes)
        return Answer(response.status, json.decode(response.body))

    def build_context(self, machine: Machine | None) -> ssl.SSLContext:
        """Trusts the authority alone; shows the certificate of the machine."""
        context = ssl.create_default_context(cadata=self.bundle)
        if machine is not None and machine.certificate:
            with tempfile.TemporaryDirectory() as folder:
                chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
                chain.write_text(machine.certificate)
                key.write_bytes(encode_key(machine.key))
                context.load_cert_chain(chain, key)
        return context


class BootstrapWorld:
    """The API server, its objects, and any number of replicas."""

    def __init__(self, client: Client, clock: ShiftedClock, stack: contextlib.AsyncExitStack):
        self.client = client
        self.clock = clock
        self._stack = stack
        self.operator_token = ""
        self.stranger_token = ""
        self.methods: dict[str, AttestationMethod] = {}
        self.bootstrap: dict[str, Any] = {}
        """What templates say of GitHub; empty for machines that run nothing of ours."""

    async def start_replica(
        self,
        limits: Limits | None = GENEROUS,
        *,
        lifetime: timedelta = LIFETIME,
        heartbeat_s: float = HEARTBEAT_S,
        watches: bool = False,
    ) -> Replica:
        """Another service on the same objects; with `watches` it keeps claims at hand."""
        store = SecretAuthority(self.client, NAMESPACE)
        issuer = Issuer(store, clock=self.clock, lifetime=lifetime)
        claims = KubeClaims(self.client, clock=self.clock)
        if watches:
            tasks = await self._stack.enter_async_context(Supervisor("claims"))
            tasks.spawn(claims.run(), name="claims")
        github = await self._stack.enter_async_context(http.Client())
        registrar = GithubRegistrar(self.client, github, clock=self.clock)
        tokens = SecretTokens(self.client, NAMESPACE)
        stores = Stores(claims, tokens, issuer, registrar, self.methods)
        authorizer = DelegatingAuthorizer(self.client.raw, self.clock, random.Random(1))
        service = BootstrapService(
            stores,
            authorizer,
            clock=self.clock,
            limits=limits,
            heartbeat_s=heartbeat_s,
            timeout_s=PATIENCE_S,
        )
        tls = ServingTls(issuer, ("127.0.0.1",), clock=self.clock)
        await tls.refresh()
        server = http.Server(service.handle, limits=PATIENT_LIMITS)
        self._stack.push_async_callback(server.close)
        listener = await server.listen("127.0.0.1", 0, tls=tls.context)
        return Replica(service, listener.url, await issuer.read_bundle(), tls)

    async def add_claim(self, name: str, method: str = "join-token", **config: Any) -> MachineClaim:
        """A claim, and a template of its own."""
        template = {
            "apiVersion": API,
            "kind": "HypervisorMachineTemplate",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "hypervisorClusterRef": {"name": "lab"},
                "template": {"mock": {}},
                "resources": {"cpu": 1, "memory": "1Gi", "disk": "10G"},
                "attestation": {"method": method, "config": config},
                "bootstrap": self._describe_bootstrap(),
            },
        }
        claim = {
            "apiVersion": API,
            "kind": "MachineClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"templateRef": {"name": name}},
        }
        await definitions.apply(self.client.raw, [template, claim])
        self.clock.shift += timedelta(seconds=2)  # claims are listed once a second at most
        return await self.read_claim(name)

    def _describe_bootstrap(self) -> dict[str, Any]:
        if not self.bootstrap:
            return {"method": "none"}
        return {"method": "runner-token", "config": {"github": self.bootstrap}}

    async def read_claim(self, name: str) -> MachineClaim:
        """A claim as it is now."""
        return await self.client.get(MachineClaim, name, "default")

    async def set_phase(self, name: str, phase: str) -> None:
        """Pretend to be the operator."""
        statuses = self.client.resource(MachineClaim.KIND.gvr).subresource("status")
        await statuses.patch(name, {"status": {"phase": phase}}, namespace="default")

    async def issue(self, replica: Replica, claim: MachineClaim, **more: object) -> str:
        """A join token, asked for as the operator does."""
        answer = await replica.call(
            "POST", "/v1/join-tokens", {"claim": name_of(claim), **more}, token=self.operator_token
        )
        assert answer.status == 201, answer
        token: str = answer.body["token"]
        return token

    async def add_account(self, account: str) -> str:
        """A service account; its token."""
        accounts = ResourcePath("", "v1", "serviceaccounts", NAMESPACE)
        body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}
        await self.client.raw.create(accounts, json.encode(body))
        return await self.request_token(account)

    async def request_token(self, account: str, *audiences: str) -> str:
        """A token of a service account, for the API server or for others."""
        path = ResourcePath("", "v1", "serviceaccounts", NAMESPACE, account, "token")
        spec = {"audiences": list(audiences)} if audiences else {}
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = json.decode(await self.client.raw.create(path, json.encode(wanted)))
        token: str = answer["status"]["token"]
        return token


def name_of(claim: MachineClaim) -> dict[str, str]:
    """A claim as requests name it."""
    meta = claim.metadata
    return {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid}


@contextlib.asynccontextmanager
async def bootstrap_world() -> AsyncIterator[BootstrapWorld]:
    """An API server with our kinds, an operator with its role, and a stranger without."""
    async with Cluster() as cluster, contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(ClusterConfig(server=cluster.url)))
        await definitions.install(client.raw, KINDS)
        group = "rbac.authorization.k8s.io"
        rule = {"nonResourceURLs": ["/v1/join-tokens", "/v1/join-tokens/*"]}
        await definitions.apply(
            client.raw,
            [
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
                {
                    "apiVersion": f"{group}/v1",
                    "kind": "ClusterRole",
                    "metadata": {"name": "join-tokens"},
                    "rules": [{**rule, "verbs": ["post", "delete"]}],
                },
                {
                    "apiVersion": f"{group}/v1",
                    "kind": "ClusterRoleBinding",
                    "metadata": {"name": "join-tokens"},
                    "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "join-tokens"},
                    "subjects": [
                        {"kind": "ServiceAccount", "name": "operator", "namespace": NAMESPACE}
                    ],
                },
            ],
        )
        world = BootstrapWorld(client, ShiftedClock(), stack)
        world.operator_token = await world.add_account("operator")
        world.stranger_token = await world.add_account("stranger")
        yield world
