"""The admission plugins of one server, by the names kube-apiserver gives them.

Which of them run is chosen as `--enable-admission-plugins` and `--disable-admission-plugins` do.
"""

import random
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from quarterdeck.server.admission.plugin import Plugin
from quarterdeck.server.admission.plugins.always import AlwaysDeny, AlwaysPullImages
from quarterdeck.server.admission.plugins.certificate_requests import CHECKS as CERTIFICATE_CHECKS
from quarterdeck.server.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from quarterdeck.server.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from quarterdeck.server.admission.plugins.extended_resource_toleration import (
    ExtendedResourceToleration,
)
from quarterdeck.server.admission.plugins.ingress_class import DefaultIngressClass
from quarterdeck.server.admission.plugins.limit_pod_hard_anti_affinity_topology import (
    LimitPodHardAntiAffinityTopology,
)
from quarterdeck.server.admission.plugins.limit_ranger import LimitRanger
from quarterdeck.server.admission.plugins.namespace_exists import NamespaceExists
from quarterdeck.server.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from quarterdeck.server.admission.plugins.node_restriction import NodeRestriction
from quarterdeck.server.admission.plugins.owner_references_permission_enforcement import (
    NAME as OWNER_PERMISSIONS,
)
from quarterdeck.server.admission.plugins.pod_node_selector import PodNodeSelector
from quarterdeck.server.admission.plugins.priority import Priority
from quarterdeck.server.admission.plugins.runtime_class import RuntimeClass
from quarterdeck.server.admission.plugins.service_account import ServiceAccount
from quarterdeck.server.admission.plugins.storage_class import DefaultStorageClass
from quarterdeck.server.admission.plugins.storage_object_in_use_protection import (
    StorageObjectInUseProtection,
)
from quarterdeck.server.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from quarterdeck.server.admission.pod_security.plugin import PodSecurity
from quarterdeck.storage import Store

MUTATING_WEBHOOK = "MutatingAdmissionWebhook"
VALIDATING_WEBHOOK = "ValidatingAdmissionWebhook"
MUTATING_POLICY = "MutatingAdmissionPolicy"
VALIDATING_POLICY = "ValidatingAdmissionPolicy"
NAMESPACE_LIFECYCLE = "NamespaceLifecycle"
RESOURCE_QUOTA = "ResourceQuota"
SERVICE_ACCOUNT = "ServiceAccount"

_FACTORIES: Mapping[str, Callable[[Store, random.Random], Plugin]] = {
    NAMESPACE_LIFECYCLE: lambda store, rng: NamespaceLifecycle(store),
    "NamespaceExists": lambda store, rng: NamespaceExists(store),
    "LimitPodHardAntiAffinityTopology": lambda store, rng: LimitPodHardAntiAffinityTopology(),
    "AlwaysPullImages": lambda store, rng: AlwaysPullImages(),
    "LimitRanger": lambda store, rng: LimitRanger(store),
    SERVICE_ACCOUNT: lambda store, rng: ServiceAccount(store, rng),
    "NodeRestriction": lambda store, rng: NodeRestriction(store),
    "TaintNodesByCondition": lambda store, rng: TaintNodesByCondition(),
    "PodSecurity": lambda store, rng: PodSecurity(store),
    "PodNodeSelector": lambda store, rng: PodNodeSelector(store),
    "Priority": lambda store, rng: Priority(store),
    "DefaultTolerationSeconds": lambda store, rng: DefaultTolerationSeconds(),
    "ExtendedResourceToleration": lambda store, rng: ExtendedResourceToleration(),
    "StorageObjectInUseProtection": lambda store, rng: StorageObjectInUseProtection(),
    "RuntimeClass": lambda store, rng: RuntimeClass(store),
    "DefaultIngressClass": lambda store, rng: DefaultIngressClass(store),
    "DefaultStorageClass": lambda store, rng: DefaultStorageClass(store),
    "DenyServiceExternalIPs": lambda store, rng: DenyServiceExternalIPs(),
    "AlwaysDeny": lambda store, rng: AlwaysDeny(),
}
"""Plugins that decide without waiting, in the order in which they are called."""
_OTHERS = (
    MUTATING_POLICY,
    MUTATING_WEBHOOK,
    VALIDATING_POLICY,
    VALIDATING_WEBHOOK,
    RESOURCE_QUOTA,
    *CERTIFICATE_CHECKS,
    OWNER_PERMISSIONS,
)
_OFF = frozenset(
    (
        "AlwaysDeny", "AlwaysPullImages", "DenyServiceExternalIPs", "ExtendedResourceToleration",
        "LimitPodHardAntiAffinityTopology", "NamespaceExists", "NodeRestriction",
        OWNER_PERMISSIONS, "PodNodeSelector",
    )
)  # fmt: skip
"""Plugins that run only if `--enable-admission-plugins` names them."""
_WITHOUT_EFFECT = frozenset(
    (
        "AlwaysAdmit", "ClusterTrustBundleAttest", "EventRateLimit", "ImagePolicyWebhook",
        "NamespaceAutoProvision", "PersistentVolumeClaimResize", "PodTolerationRestriction",
        "PodTopologyLabels",
    )
)  # fmt: skip
"""Plugins of Kubernetes that this server does not implement; disabling one changes nothing."""
_ACCEPTED = frozenset({"AlwaysAdmit", "ClusterTrustBundleAttest", "PersistentVolumeClaimResize"})
"""Those of `_WITHOUT_EFFECT` that may be enabled: their checks are elsewhere, or they have none."""


class PluginNames(NamedTuple):
    """The names of Kubernetes' plugins, grouped by what enabling them does on this server."""

    on: tuple[str, ...]
    off: tuple[str, ...]
    """Off by default; they run if enabled."""
    accepted: tuple[str, ...]
    """Not implemented, but may be enabled; that has no effect."""
    absent: tuple[str, ...]
    """Not implemented; enabling one is an error."""


def choose_plugins(enabled: Iterable[str], disabled: Iterable[str]) -> frozenset[str]:
    """Return the names of the plugins that run: the default ones and `enabled`, minus `disabled`.

    Raises:
        ValueError: for an unknown name, or a plugin that cannot be enabled here.
    """
    enabled, disabled = frozenset(enabled), frozenset(disabled)
    known = {*_FACTORIES, *_OTHERS, *_WITHOUT_EFFECT}
    for flag, names in (("enable", enabled), ("disable", disabled)):
        if unknown := sorted(names - known):
            raise ValueError(
                f'{flag}-admission-plugins plugin "{unknown[0]}" is unknown; it must be one of'
                f" {', '.join(sorted(known))}"
            )
    if both := sorted(enabled & disabled):
        raise ValueError(
            f"{both[0]} is in both enable-admission-plugins and disable-admission-plugins"
        )
    if absent := sorted((enabled & _WITHOUT_EFFECT) - _ACCEPTED):
        raise ValueError(
            f"the admission plugin {absent[0]} is not supported by this server; leave it out of"
            " enable-admission-plugins"
        )
    return (frozenset((*_FACTORIES, *_OTHERS)) - _OFF | enabled) - disabled


def list_plugins() -> PluginNames:
    """List Kubernetes' plugins by whether this server runs, accepts or refuses them; sorted."""
    return PluginNames(
        on=tuple(sorted(choose_plugins((), ()))),
        off=tuple(sorted(_OFF)),
        accepted=tuple(sorted(_ACCEPTED)),
        absent=tuple(sorted(_WITHOUT_EFFECT - _ACCEPTED)),
    )


def build_plugins(chosen: Collection[str], store: Store, rng: random.Random) -> tuple[Plugin, ...]:
    """Build the chosen plugins that decide without waiting, in the order Kubernetes calls them."""
    return tuple(make(store, rng) for name, make in _FACTORIES.items() if name in chosen)
