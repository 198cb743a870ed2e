"""The webhooks of the group: validation of every kind, defaults where a schema cannot have them.

They read from the API server, never from a cache: webhooks are served before the caches are filled,
and a policy must be enforced as soon as it is written.
"""

from typing import Any, Protocol, TypeVar

import msgspec

from quarterdeck.apis.core.config import Namespace
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    KINDS,
    CollectorDiscovery,
    FleetConnection,
    PipelineDiscovery,
    TenantPolicy,
)
from quarterdeck.client.errors import ClientError
from quarterdeck.meta.objects import Object, replace
from quarterdeck.operators.pipelines import tenancy, validation
from quarterdeck.operators.pipelines.address import InvalidAddress, normalize_url
from quarterdeck.runtime import Denied, Review, Webhooks
from quarterdeck.telemetry.contents import check_in_thread
from quarterdeck.wire.status import ApiError

T = TypeVar("T", bound=Object)
K = TypeVar("K", bound=Object)
Discovery = PipelineDiscovery | CollectorDiscovery


class Reader(Protocol):
    """The live reads that admission needs."""

    async def get(self, kind: type[K], name: str, namespace: str = "") -> K:
        """One object; raises `NotFound`."""
        ...

    async def list(self, kind: type[K]) -> Any:
        """All objects of a kind."""
        ...


def add_webhooks(webhooks: Webhooks, reader: Reader) -> None:
    """Validate every kind of the group, and default those that need it."""
    admission = Admission(reader)
    for kind in KINDS:
        webhooks.validate(kind, admission.validate)
    webhooks.mutate(FleetConnection, default_connection, leave_malformed=True)
    webhooks.mutate(PipelineDiscovery, default_discovery, leave_malformed=True)
    webhooks.mutate(CollectorDiscovery, default_discovery, leave_malformed=True)


class Admission:
    """Validates writes to kinds of the group."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def validate(self, review: Review[Any]) -> None:
        """Allow a write, warn about it, or deny it with everything that is wrong."""
        obj, old = review.object, review.old
        for text, language in validation.list_contents(obj):
            await check_in_thread(text, language)
        findings = validation.check_change(obj, old)
        for each in findings:
            if not each.is_error:
                review.warn(each.text)
        problems = [each.text for each in findings if each.is_error]
        if not problems and _is_new_spec(obj, old):
            problems = await self._check_tenant(review)
        if problems:
            raise Denied(f"{obj.KIND.kind} {obj.metadata.name or '(no name)'}: {_join(problems)}")

    async def _check_tenant(self, review: Review[Any]) -> list[str]:
        obj = review.object
        if not isinstance(obj, tenancy.BOUND_KINDS):
            return []
        try:
            policies = await self._reader.list(TenantPolicy)
            if not policies:
                return []
            namespace = await self._reader.get(Namespace, review.request.namespace)
        except (ApiError, ClientError) as error:
            return [f"cannot read the TenantPolicies that may apply: {error}; try again"]
        labels = namespace.metadata.labels
        bound = tenancy.select_policies(policies, review.user, labels)
        return tenancy.find_violations(obj, bound)


def _is_new_spec(obj: Any, old: Any) -> bool:
    return not obj.is_deleting and (old is None or old.spec != obj.spec)


def _join(problems: list[str], limit: int = 10) -> str:
    shown = "; ".join(problems[:limit])
    rest = len(problems) - limit
    return f"{shown}; and {rest} more" if rest > 0 else shown


def default_connection(review: Review[FleetConnection]) -> FleetConnection:
    """Remove the path of a service from `spec.url`; existing Secrets and guides include it."""
    connection = review.object
    if not connection.spec.url:
        return connection
    try:
        url = normalize_url(connection.spec.url)
    except InvalidAddress:
        return connection  # validation reports the error
    if url == connection.spec.url:
        return connection
    return replace(connection, spec=msgspec.structs.replace(connection.spec, url=url))


def default_discovery(review: Review[Any]) -> Any:
    """Set `spec.targetNamespace` to the discovery's own namespace if it is empty."""
    discovery = review.object
    if discovery.spec.target_namespace:
        return discovery
    spec = msgspec.structs.replace(
        discovery.spec, target_namespace=review.request.namespace or discovery.metadata.namespace
    )
    return replace(discovery, spec=spec)
