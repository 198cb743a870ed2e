"""The HTTP handler: finds the endpoint, authorizes the caller, and builds error responses."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import msgspec
from cryptography import x509

from quarterdeck.client.errors import ClientError
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.metrics import CONTENT_TYPE
from quarterdeck.services.bootstrap import errors
from quarterdeck.services.bootstrap.audit import Audit, Caller
from quarterdeck.services.bootstrap.challenges import (
    Challenge,
    Challenges,
    TooManyChallenges,
)
from quarterdeck.services.bootstrap.errors import CallError, respond_error
from quarterdeck.services.bootstrap.exchange import (
    ATTEST,
    MAX_BODY,
    describe_root,
    hide_reason,
    read_message,
    respond,
)
from quarterdeck.services.bootstrap.issuer import Issuer
from quarterdeck.services.bootstrap.join_tokens import JoinTokens
from quarterdeck.services.bootstrap.limiter import AttestationLimiter, Limits
from quarterdeck.services.bootstrap.machine_calls import HEARTBEAT_S, MachineCalls
from quarterdeck.services.bootstrap.messages import (
    ChallengeRequest,
    EvidenceRequest,
    HeartbeatRequest,
    JoinRequest,
    MethodRequest,
    RenewRequest,
    StatusRequest,
    TokenRequest,
    VerifyRequest,
)
from quarterdeck.services.bootstrap.methods import AttestationMethod
from quarterdeck.services.bootstrap.metrics import BootstrapMetrics
from quarterdeck.services.bootstrap.plugin_attestation import PluginAttestation
from quarterdeck.services.bootstrap.ports import Claims, Registrar, TokenStore, WriteConflict
from quarterdeck.services.bootstrap.refusal import Refused
from quarterdeck.services.bootstrap.tpm import TpmAttestation
from quarterdeck.wire.status import ApiError

TIMEOUT_S = 10.0
SWEEP_S = 600.0
LIMITS = http.Limits(
    body_bytes=MAX_BODY, header_timeout_s=10.0, body_timeout_s=10.0, connections=5000
)
_TOKENS = "/v1/join-tokens"
_Call = Callable[[http.Request, Caller], Awaitable[http.Response]]


class Authorizer(Protocol):
    """Wraps an HTTP handler, so that only callers that the API server allows reach it."""

    def protect(
        self, page: Callable[[http.Request], Awaitable[http.Response]]
    ) -> Callable[[http.Request], Awaitable[http.Response]]:
        """Wrap a handler with authorization."""


class Stores(msgspec.Struct, frozen=True):
    """The ports that the service uses."""

    claims: Claims
    tokens: TokenStore
    issuer: Issuer
    registrar: Registrar | None = None
    """The CI system; without one, machines register no runners."""
    methods: Mapping[str, AttestationMethod] = {}
    """Attestation methods of other packages, by name."""


class BootstrapService:
    """Answers requests of machines and of the operator."""

    def __init__(
        self,
        stores: Stores,
        authorizer: Authorizer,
        *,
        clock: Clock,
        limits: Limits | None = None,
        metrics: BootstrapMetrics | None = None,
        heartbeat_s: float = HEARTBEAT_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._heartbeat_s = heartbeat_s
        self._authorizer = authorizer
        self._issuer = stores.issuer
        self._claims = stores.claims
        self.metrics = metrics or BootstrapMetrics()
        self._audit = audit = Audit(self.metrics)
        self._limiter = limiter = AttestationLimiter(clock=clock, limits=limits)
        claims, issuer = stores.claims, stores.issuer
        self._tokens = JoinTokens(
            stores.tokens, claims, issuer, limiter=limiter, audit=audit, clock=clock
        )
        self.challenges: Challenges[Challenge] = Challenges(clock=clock)
        self._plugged = PluginAttestation(
            stores.methods, claims, issuer, limiter=limiter, audit=audit, clock=clock
        )
        self._tpm = TpmAttestation(
            claims,
            issuer,
            self.challenges,
            tokens=self._tokens,
            limiter=limiter,
            audit=audit,
            clock=clock,
        )
        self._machines = MachineCalls(
            claims, issuer, audit=audit, clock=clock, registrar=stores.registrar
        )
        self._calls: dict[tuple[str, str], _Call] = {
            ("POST", _TOKENS): self._create_token,
            ("POST", "/v1/attest/join-token"): self._join,
            ("POST", "/v1/attest/tpm/challenge"): self._challenge,
            ("POST", "/v1/attest/tpm/verify"): self._verify,
            ("POST", "/v1/credentials/renew"): self._renew,
            ("GET", "/v1/config"): self._serve_config,
            ("POST", "/v1/status"): self._accept_status,
            ("POST", "/v1/heartbeat"): self._accept_heartbeat,
            ("GET", "/v1/trust-bundle"): self._serve_bundle,
            ("GET", "/healthz"): self._serve_health,
            ("GET", "/readyz"): self._serve_ready,
            ("GET", "/metrics"): self._serve_metrics,
        }

    async def handle(self, request: http.Request) -> http.Response:
        """Answer one request."""
        caller = Caller(address=request.peer.host, request_id=secrets.token_hex(8))
        endpoint, call = self._find(request)
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await call(request, caller)
        except Refused as refused:
            self._audit.record_refusal(endpoint, caller, refused)
            await self._record_refusal(refused)
            response = respond_error(hide_reason(refused, endpoint), caller.request_id)
        except CallError as error:
            response = respond_error(error, caller.request_id)
        except http.BodyTooLarge:
            text = f"the body is larger than {MAX_BODY} bytes"
            response = respond_error(CallError(413, "too_large", text), caller.request_id)
        except (ApiError, ClientError, TimeoutError, TooManyChallenges, WriteConflict):
            response = respond_error(CallError(*errors.BUSY), caller.request_id)
        self.metrics.count_request(endpoint, response.status)
        return response

    async def run(self) -> None:
        """Delete obsolete tokens periodically, until cancelled."""
        while True:
            await self._clock.sleep(SWEEP_S)
            try:
                for _ in range(await self._tokens.forget_obsolete()):
                    self.metrics.count_token("forgotten")
            except (ApiError, ClientError):
                continue  # the next round tries again

    async def _record_refusal(self, refused: Refused) -> None:
        """Write a refusal into the status of its claim, at a limited rate."""
        if refused.claim is None or not self._limiter.take_record(refused.claim.uid):
            return
        try:
            await self._claims.record_refusal(refused.claim, refused, self._clock.now())
        except (ApiError, ClientError) as error:
            self._audit.record_unwritten_refusal(refused.claim, error)

    def _find(self, request: http.Request) -> tuple[str, _Call]:
        if not request.peer.secure:
            return "insecure", _refuse_insecure
        path = request.path
        if path.startswith(f"{_TOKENS}/") and request.method == "DELETE":
            return f"{_TOKENS}/{{id}}", self._delete_token
        call = self._calls.get((request.method, path)) or self._find_method(request)
        return (path, call) if call is not None else ("unknown", _refuse_unknown)

    def _find_method(self, request: http.Request) -> _Call | None:
        """The endpoint of a method that another package has added."""
        name, _, step = request.path.removeprefix(ATTEST).rpartition("/")
        is_known = request.path.startswith(ATTEST) and name in self._plugged.methods
        if request.method != "POST" or not is_known:
            return None

        async def challenge(request: http.Request, caller: Caller) -> http.Response:
            wanted = await read_message(request, MethodRequest)
            return respond(200, await self._plugged.challenge(name, wanted, caller))

        async def verify(request: http.Request, caller: Caller) -> http.Response:
            wanted = await read_message(request, EvidenceRequest)
            return respond(200, await self._plugged.verify(name, wanted, caller))

        return {"challenge": challenge, "verify": verify}.get(step)

    async def _create_token(self, request: http.Request, caller: Caller) -> http.Response:
        await self._authorize(request)
        wanted = await read_message(request, TokenRequest)
        return respond(201, await self._tokens.create(wanted, caller))

    async def _delete_token(self, request: http.Request, caller: Caller) -> http.Response:
        await self._authorize(request)
        await self._tokens.revoke(request.path.removeprefix(f"{_TOKENS}/"), caller)
        return http.Response(204, [])

    async def _join(self, request: http.Request, caller: Caller) -> http.Response:
        wanted = await read_message(request, JoinRequest)
        return respond(200, await self._tokens.attest(wanted, caller))

    async def _challenge(self, request: http.Request, caller: Caller) -> http.Response:
        wanted = await read_message(request, ChallengeRequest)
        return respond(200, await self._tpm.challenge(wanted, caller))

    async def _verify(self, request: http.Request, caller: Caller) -> http.Response:
        wanted = await read_message(request, VerifyRequest)
        return respond(200, await self._tpm.verify(wanted, caller))

    async def _renew(self, request: http.Request, caller: Caller) -> http.Response:
        wanted = await read_message(request, RenewRequest)
        return respond(200, await self._machines.renew(request.peer, wanted.csr.encode(), caller))

    async def _serve_config(self, request: http.Request, caller: Caller) -> http.Response:
        return respond(200, await self._machines.read_config(request.peer, caller))

    async def _accept_status(self, request: http.Request, caller: Caller) -> http.Response:
        wanted = await read_message(request, StatusRequest)
        directive = await self._machines.report(request.peer, wanted)
        return respond(202, {"directive": directive})

    async def _accept_heartbeat(self, request: http.Request, caller: Caller) -> http.Response:
        await read_message(request, HeartbeatRequest)
        directive = await self._machines.record_heartbeat(request.peer)
        return respond(200, {"directive": directive, "intervalSeconds": self._heartbeat_s})

    async def _serve_bundle(self, request: http.Request, caller: Caller) -> http.Response:
        pem = await self._issuer.read_bundle()
        keys = [describe_root(each) for each in x509.load_pem_x509_certificates(pem.encode())]
        document = {"trustDomain": self._issuer.trust_domain, "pem": pem, "jwks": {"keys": keys}}
        return respond(200, document)

    async def _serve_health(self, request: http.Request, caller: Caller) -> http.Response:
        return http.Response(200, [("Content-Type", "text/plain")], b"ok")

    async def _serve_ready(self, request: http.Request, caller: Caller) -> http.Response:
        await self._issuer.open_authority()
        return http.Response(200, [("Content-Type", "text/plain")], b"ok")

    async def _serve_metrics(self, request: http.Request, caller: Caller) -> http.Response:
        await self._authorize(request)
        page = self.metrics.registry.render()
        return http.Response(200, [("Content-Type", CONTENT_TYPE)], page)

    async def _authorize(self, request: http.Request) -> None:
        answer = await self._authorizer.protect(_accept)(request)
        match answer.status:
            case 200:
                return
            case 401:
                raise CallError(401, "unauthenticated", "a valid bearer token is required")
            case 403:
                raise CallError(
                    403, "forbidden", "the caller is not allowed to do this; check its roles"
                )
            case _:
                raise CallError(*errors.BUSY)


async def _accept(request: http.Request) -> http.Response:
    return http.Response(200, [])


async def _refuse_unknown(request: http.Request, caller: Caller) -> http.Response:
    raise CallError(404, "not_found", "endpoint not found")


async def _refuse_insecure(request: http.Request, caller: Caller) -> http.Response:
    raise CallError(403, "tls_required", "this service requires TLS")
