"""The admission of one server, put together: plugins, policies, webhooks and quotas, in order."""

import random
from collections.abc import Callable, Sequence

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.metrics import Registry as MetricsRegistry
from quarterdeck.server.admission.assembly import (
    MUTATING_POLICY,
    MUTATING_WEBHOOK,
    NAMESPACE_LIFECYCLE,
    RESOURCE_QUOTA,
    SERVICE_ACCOUNT,
    VALIDATING_POLICY,
    VALIDATING_WEBHOOK,
    build_plugins,
    choose_plugins,
)
from quarterdeck.server.admission.chain import Admission
from quarterdeck.server.admission.computation import Computations, Threads
from quarterdeck.server.admission.metrics import AdmissionMetrics
from quarterdeck.server.admission.plugin import Plugin
from quarterdeck.server.admission.plugins.certificate_requests import CertificateRequests
from quarterdeck.server.admission.plugins.namespace_lifecycle import NamespaceRecheck
from quarterdeck.server.admission.plugins.owner_references_permission_enforcement import (
    NAME as OWNER_PERMISSIONS,
)
from quarterdeck.server.admission.plugins.owner_references_permission_enforcement import (
    OwnerReferencesPermissionEnforcement,
)
from quarterdeck.server.admission.plugins.role_escalation import RoleEscalation
from quarterdeck.server.admission.plugins.service_addresses import ServiceAddresses, parse_network
from quarterdeck.server.admission.policies.mutating import MutatingPolicies
from quarterdeck.server.admission.policies.param_access import ParamAccess
from quarterdeck.server.admission.policies.plugin import ValidatingPolicies
from quarterdeck.server.admission.quota.plugin import ResourceQuota
from quarterdeck.server.admission.webhooks.caller import WebhookCaller
from quarterdeck.server.admission.webhooks.observer import Observer
from quarterdeck.server.admission.webhooks.webhooks import Webhooks
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.authorization.rbac.authorizer import RbacAuthorizer
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store


class AdmissionInputs(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a server that admission is built from."""

    store: Store
    registry: Registry
    authorizer: Authorizer
    roles: RbacAuthorizer
    options: ServerOptions
    clock: Clock
    rng: random.Random
    metrics: MetricsRegistry
    threads: Threads
    track_quota: Callable[[Object, Object], Object]
    """Records the server as the owner of what it counts in a quota."""


class AdmissionParts:
    """The chain of plugins, and those of its parts that must be started and closed."""

    def __init__(self, inputs: AdmissionInputs, plugins: Sequence[Plugin] = ()) -> None:
        """`plugins` are called after those of Kubernetes.

        Raises:
            ValueError: for plugins that are unknown, or an invalid network of services.
        """
        store, registry, authorizer = inputs.store, inputs.registry, inputs.authorizer
        options, metrics = inputs.options, AdmissionMetrics(inputs.metrics)
        computations = Computations(
            threads=inputs.threads,
            clock=inputs.clock,
            inline_bytes=options.inline_bytes,
            slice_s=options.slice_s,
        )
        self._validating = ValidatingPolicies(
            store, registry, authorizer, metrics=metrics, computations=computations
        )
        self._mutating = MutatingPolicies(
            store, registry, authorizer, metrics=metrics, computations=computations
        )
        self.caller = WebhookCaller(options.webhook_services)
        self._webhooks = Webhooks(
            store,
            registry,
            authorizer,
            caller=self.caller,
            rng=inputs.rng,
            observer=Observer(metrics, inputs.clock),
            computations=computations,
        )
        self.chain = self._build_chain(inputs, plugins)

    def _build_chain(self, inputs: AdmissionInputs, plugins: Sequence[Plugin]) -> Admission:
        store, options = inputs.store, inputs.options
        chosen = choose_plugins(options.enabled_plugins, options.disabled_plugins)
        if not options.service_accounts:
            chosen -= {SERVICE_ACCOUNT}
        optional: dict[str, Plugin] = {
            OWNER_PERMISSIONS: OwnerReferencesPermissionEnforcement(
                inputs.authorizer, inputs.registry
            ),
            MUTATING_POLICY: self._mutating,
            VALIDATING_POLICY: self._validating,
        }
        quotas = (ResourceQuota(store, inputs.track_quota),) if RESOURCE_QUOTA in chosen else ()
        rechecks = (NamespaceRecheck(store),) if NAMESPACE_LIFECYCLE in chosen else ()
        return Admission(
            (
                *build_plugins(chosen, store, inputs.rng),
                ServiceAddresses(store, parse_network(options.service_cluster_ip_range)),
                *plugins,
                RoleEscalation(inputs.roles),
                ParamAccess(store, inputs.registry, inputs.authorizer),
                CertificateRequests(inputs.authorizer, chosen),
                *(plugin for name, plugin in optional.items() if name in chosen),
            ),
            self._webhooks.choose(
                mutating=MUTATING_WEBHOOK in chosen, validating=VALIDATING_WEBHOOK in chosen
            ),
            quotas,
            rechecks,
        )

    def start(self) -> None:
        """Read policies and webhooks from the store, and follow their changes from now on."""
        self._validating.start()
        self._mutating.start()
        self._webhooks.start()

    async def aclose(self) -> None:
        """Close the connections to webhooks."""
        await self._webhooks.aclose()
