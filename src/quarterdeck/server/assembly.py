"""The parts of an API server, each made once, in the order they need each other."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.identity import GVR
from quarterdeck.server.admission.composition import AdmissionInputs, AdmissionParts
from quarterdeck.server.admission.plugin import Plugin
from quarterdeck.server.admission.quota.plugin import QUOTAS
from quarterdeck.server.authentication.authenticator import Authenticator
from quarterdeck.server.authentication.bearer_token import (
    BearerTokens,
    TokenAuthenticator,
    add_token_sources,
)
from quarterdeck.server.authentication.bootstrap_token import BootstrapTokens
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.service_accounts.signing_key import SigningKey
from quarterdeck.server.authentication.service_accounts.tokens import ServiceAccountTokens
from quarterdeck.server.authentication.x509 import ClientCertificates
from quarterdeck.server.authorization.always_allow import AlwaysAllow
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.authorization.rbac.authorizer import RbacAuthorizer
from quarterdeck.server.core import Core
from quarterdeck.server.core.conversion import Conversions
from quarterdeck.server.core.core import Stream
from quarterdeck.server.core.metrics import Metrics
from quarterdeck.server.core.timers import Timers
from quarterdeck.server.core.worker import Worker
from quarterdeck.server.filters.fairness import Fairness, FairnessLimits
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import STATUS, Object
from quarterdeck.server.response.frames import FrameCache
from quarterdeck.server.response.watch_buffers import WatchBuffers
from quarterdeck.server.write.field_managers import FieldManagers
from quarterdeck.storage import Store

if TYPE_CHECKING:
    from quarterdeck.server.audit.auditor import Auditor


class Overrides(NamedTuple):
    """Parts that replace the default ones; None for the default."""

    clock: Clock | None = None
    rng: random.Random | None = None
    registry: Registry | None = None
    authenticators: Sequence[Authenticator] | None = None
    authorizer: Authorizer | None = None
    plugins: Sequence[Plugin] = ()
    """Admission plugins that run after those of Kubernetes."""


class Parts(NamedTuple):
    """The parts that `assemble` builds."""

    core: Core
    roles: RbacAuthorizer
    admission: AdmissionParts
    fairness: Fairness
    auditor: "Auditor | None"


def assemble(store: Store, options: ServerOptions, given: Overrides) -> Parts:
    """Build the parts of an API server.

    Raises:
        PolicyError: if the audit policy cannot be used.
        OSError: if the audit log cannot be written.
        ValueError: for admission plugins that are unknown.
    """
    clock, rng = given.clock or SystemClock(), given.rng or random.Random()
    roles = RbacAuthorizer(store)
    by_roles = options.has_roles and not options.always_allow
    authorizer = given.authorizer or (roles if by_roles else AlwaysAllow())
    streams: set[Stream] = set()
    metrics = Metrics(store, streams)
    worker = Worker(options.inline_bytes)
    inputs = AdmissionInputs(
        store=store,
        registry=given.registry or Registry(),
        authorizer=authorizer,
        roles=roles,
        options=options,
        clock=clock,
        rng=rng,
        metrics=metrics.registry,
        threads=worker,
        track_quota=lambda before, after: _track_quota(core, before, after),
    )
    admission = AdmissionParts(inputs, given.plugins)
    accounts = _build_accounts(store, options, clock=clock, rng=rng)
    core = Core(
        store=store,
        registry=inputs.registry,
        options=options,
        clock=clock,
        random=rng,
        timers=Timers(clock),
        authenticators=_build_authenticators(
            store, options, accounts, clock=clock, given=given.authenticators
        ),
        accounts=accounts,
        authorizer=authorizer,
        admission=admission.chain,
        conversions=Conversions(admission.caller, rng),
        metrics=metrics,
        frames=FrameCache(),
        field_managers=FieldManagers(),
        worker=worker,
        watch_buffers=WatchBuffers(
            each_bytes=options.watch_buffer_bytes, all_bytes=options.watch_buffers_bytes
        ),
        streams=streams,
    )
    return Parts(
        core,
        roles,
        admission,
        _build_fairness(options, metrics),
        _build_auditor(options, clock, worker),
    )


def _track_quota(core: Core, before: Object, after: Object) -> Object:
    """Record the server itself as the owner of what it counts in a quota."""
    resource = core.registry.get(GVR("", "v1", QUOTAS))
    if resource is None:
        return after
    keeper = core.field_managers.get(core, resource, STATUS)
    now = format_time(core.clock.now())
    return keeper.update(before, after, manager="kube-apiserver", now=now)


def _build_fairness(options: ServerOptions, metrics: Metrics) -> Fairness:
    fairness = Fairness(
        FairnessLimits(
            options.max_requests_in_flight,
            options.max_requests_per_user,
            options.max_running_per_user,
        )
    )
    fairness.declare_metrics(metrics.registry)
    return fairness


def _build_accounts(
    store: Store, options: ServerOptions, *, clock: Clock, rng: random.Random
) -> ServiceAccountTokens:
    return ServiceAccountTokens(
        store,
        SigningKey(options.signing_key, others=options.service_account_keys),
        clock=clock,
        rng=rng,
        issuer=options.service_account_issuer,
        audiences=options.audiences,
    )


def _build_authenticators(
    store: Store,
    options: ServerOptions,
    accounts: ServiceAccountTokens,
    *,
    clock: Clock,
    given: Sequence[Authenticator] | None,
) -> tuple[Authenticator, ...]:
    """Build the authenticators in the order of their calls, with every source of tokens."""
    sources: list[TokenAuthenticator] = [accounts]
    if options.bootstrap_tokens:
        sources.append(BootstrapTokens(store, clock=clock, audiences=accounts.audiences))
    if options.oidc is not None:
        from quarterdeck.server.authentication.oidc import OidcTokens

        sources.append(OidcTokens(options.oidc, clock=clock))
    if given is None:
        given = (ClientCertificates(), BearerTokens(), PlainPort())
    return add_token_sources(given, sources, audiences=accounts.audiences)


def _build_auditor(options: ServerOptions, clock: Clock, worker: Worker) -> "Auditor | None":
    """Build the audit log of the options; None if they have none.

    Raises:
        PolicyError: if the policy cannot be used.
        OSError: if the file cannot be written.
    """
    if options.audit_log is None or options.audit_policy is None:
        return None
    from quarterdeck.server.audit.auditor import Auditor
    from quarterdeck.server.audit.log import AuditLog, AuditLogOptions
    from quarterdeck.server.audit.policy import read_policy

    log = AuditLogOptions(
        path=options.audit_log,
        max_size_bytes=options.audit_log_max_bytes,
        max_backups=options.audit_log_max_backups,
        max_age_days=options.audit_log_max_age_days,
    )
    policy = read_policy(options.audit_policy)
    return Auditor(policy, AuditLog(log, clock), clock=clock, threads=worker)
