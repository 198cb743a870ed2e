"""RemoteAttributePolicy: attributes for many collectors. TenantPolicy: bounds of a tenant."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.core.references import LocalObjectReference
from quarterdeck.apis.fleetmanagement.collector import KEYS_NOT_RESERVED, MAX_VALUE
from quarterdeck.apis.fleetmanagement.names import GROUP, MAX_MATCHER, MAX_MATCHERS, VERSION
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo, Scope
from quarterdeck.meta.markers import Int32, Int64, Schema
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule
from quarterdeck.meta.selectors import LabelSelector

SELECTS_SOMETHING = Rule(
    rule="(has(self.matchers) && size(self.matchers) > 0) || "
    "(has(self.collectorIDs) && size(self.collectorIDs) > 0)",
    message="matchers or collectorIDs must be set",
)


class CollectorSelector(Struct, frozen=True, kw_only=True):
    """Collectors that satisfy every matcher, and collectors by their ids."""

    matchers: Annotated[
        tuple[str, ...],
        Schema(
            max_items=MAX_MATCHERS,
            list_type="atomic",
            items=Schema(min_length=1, max_length=MAX_MATCHER),
        ),
    ] = ()
    """Matchers, all of which hold."""
    collector_ids: Annotated[
        tuple[str, ...],
        Schema(max_items=1000, list_type="set", items=Schema(min_length=1, max_length=253)),
    ] = msgspec.field(name="collectorIDs", default=())
    """Collectors that are selected besides."""


class RemoteAttributePolicySpec(Struct, frozen=True, kw_only=True):
    """Attributes for many collectors."""

    selector: Annotated[CollectorSelector, Schema(rules=(SELECTS_SOMETHING,))]
    """The collectors. Matchers see the attributes that a collector reports, and collector.ID."""
    attributes: Annotated[
        Mapping[str, str],
        Schema(
            min_properties=1,
            max_properties=100,
            items=Schema(max_length=MAX_VALUE),
            rules=(KEYS_NOT_RESERVED,),
        ),
    ]
    """What is set for them."""
    priority: Annotated[Int32, Schema(default=0)] = 0
    """The policy with the highest one wins an attribute; then the first by namespace and name."""
    connection_ref: LocalObjectReference | None = None
    """The FleetConnection to use; the namespace's default one if left out."""


class RemoteAttributePolicyStatus(Struct, frozen=True, kw_only=True):
    """Which collectors a policy concerns."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    matched_count: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many collectors it selects."""
    matched_collector_ids: tuple[str, ...] = msgspec.field(name="matchedCollectorIDs", default=())
    """Their ids, at most 1000."""
    conditions: Conditions = ()
    """Ready, Synced, and Truncated if there are more ids than are listed."""


class RemoteAttributePolicy(Object, frozen=True, kw_only=True):
    """Attributes that are set for many collectors at once."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="RemoteAttributePolicy",
        plural="remoteattributepolicies",
        singular="remoteattributepolicy",
        short_names=("fmrap",),
        columns=(
            Column(name="Priority", type="integer", path=".spec.priority"),
            Column(name="Matched", type="integer", path=".status.matchedCount"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            AGE,
        ),
    )
    spec: RemoteAttributePolicySpec
    """Attributes for many collectors."""
    status: RemoteAttributePolicyStatus = RemoteAttributePolicyStatus()
    """Which collectors it concerns."""


class TenantSubject(Struct, frozen=True, kw_only=True):
    """A user, a group or a service account."""

    kind: Literal["User", "Group", "ServiceAccount"]
    """User, Group or ServiceAccount."""
    name: Annotated[str, Schema(min_length=1)]
    """Its name."""
    namespace: str = ""
    """Namespace of a service account."""


class TenantPolicySpec(Struct, frozen=True, kw_only=True):
    """Who is bound, and by which matchers."""

    subjects: Annotated[tuple[TenantSubject, ...], Schema(max_items=100, list_type="atomic")] = ()
    """Who is bound; everybody who writes in the selected namespaces if left out."""
    namespace_selector: LabelSelector | None = None
    """Namespaces the policy holds in; all if left out."""
    required_matchers: Annotated[
        tuple[str, ...],
        Schema(
            min_items=1,
            max_items=MAX_MATCHERS,
            list_type="atomic",
            items=Schema(min_length=1, max_length=MAX_MATCHER),
        ),
    ]
    """Matchers of which an object must have at least one; quoting does not matter."""


class TenantPolicyStatus(Struct, frozen=True, kw_only=True):
    """Whether a policy can be enforced."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    bound_subject_count: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many subjects it names."""
    bound_namespaces: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many namespaces it holds in now."""
    conditions: Conditions = ()
    """Ready and Valid."""


class TenantPolicy(Object, frozen=True, kw_only=True):
    """Bounds which collectors a tenant's pipelines and policies can reach."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="TenantPolicy",
        plural="tenantpolicies",
        singular="tenantpolicy",
        short_names=("fmtp",),
        scope=Scope.CLUSTER,
        columns=(
            Column(name="Subjects", type="integer", path=".status.boundSubjectCount"),
            Column(name="Namespaces", type="integer", path=".status.boundNamespaces"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            AGE,
        ),
    )
    spec: TenantPolicySpec
    """Who is bound, and by which matchers."""
    status: TenantPolicyStatus = TenantPolicyStatus()
    """Whether it can be enforced."""
