"""What the default admission plugins of Kubernetes do to built-in objects on their way in.

Each is a `pipeline.admission.Plugin` that looks at one kind and decides at once, from the store.
`default_plugins` is the chain in Kubernetes' order.
"""

import random
from collections.abc import Iterator
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.server.admission.chain import Attempt, Plugin
from quarterdeck.server.admission.plugins.service_addresses import ServiceAddresses
from quarterdeck.server.admission.plugins.token_volume import mount_token
from quarterdeck.server.kinds.fields import items, mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store, StoreKey
from quarterdeck.wire.status import Forbidden

_PREEMPT = "PreemptLowerPriority"
_SYSTEM_PRIORITIES = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
}


def default_plugins(store: Store, rng: random.Random) -> tuple[Plugin, ...]:
    """Every plugin here, ready for one server."""
    return (
        NotReadyNodes(),
        ServiceAccounts(store, rng),
        Priorities(store),
        DefaultTolerations(),
        StorageProtection(store),
        ServiceAddresses(store),
    )


def is_new(attempt: Attempt, resource: str) -> bool:
    """Whether an attempt creates an object of a built-in resource."""
    return (
        attempt.verb == "create"
        and not attempt.subresource
        and attempt.resource.gvr.group_resource == resource
        and attempt.value is not None
    )


def refusal(attempt: Attempt, why: str) -> Forbidden:
    """A 403 for the object that was to be written."""
    gvr = attempt.resource.gvr
    return Forbidden.of(gvr.resource, attempt.name, why, group=gvr.group)


def stored(store: Store, resource: str, namespace: str, name: str) -> Object | None:
    """An object as it is decided now."""
    entry = store.get_pending(StoreKey(resource, namespace, name))
    return kit_json.decode(entry.value) if entry is not None else None


def all_stored(store: Store, resource: str) -> Iterator[Object]:
    """Every object of a resource that has few of them."""
    for entry in store.snapshot().range(resource, None, after=None, limit=None):
        yield kit_json.decode(entry.value)


class Quiet:
    """A plugin with nothing to say about the final object."""

    def validate(self, attempt: Attempt) -> None:
        """Nothing more to say."""


class NotReadyNodes(Quiet):
    """New nodes are tainted until somebody calls them ready."""

    def admit(self, attempt: Attempt) -> None:
        """Add the taint."""
        if not is_new(attempt, "nodes"):
            return
        taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        spec = (attempt.value or {}).setdefault("spec", {})
        if taint not in items(spec, "taints"):
            spec["taints"] = [*items(spec, "taints"), taint]


class ServiceAccounts(Quiet):
    """Pods run as a service account that exists, and find its token."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self._store = store
        self._random = rng

    def admit(self, attempt: Attempt) -> None:
        """Name the account, look it up, mount its token.

        Raises:
            Forbidden: if there is no such account.
        """
        if not is_new(attempt, "pods"):
            return
        pod = attempt.value or {}
        if "kubernetes.io/config.mirror" in mapping(pod, "metadata", "annotations"):
            return
        spec = pod.setdefault("spec", {})
        name = spec.get("serviceAccountName") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = stored(self._store, "serviceaccounts", attempt.namespace, name)
        if account is None:
            raise refusal(
                attempt,
                f"error looking up service account {attempt.namespace}/{name}: serviceaccount"
                f' "{name}" not found',
            )
        if _automounts(spec, account):
            mount_token(spec, self._random)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]


def _automounts(spec: Object, account: Object) -> bool:
    for place in (spec, account):
        wish = place.get("automountServiceAccountToken")
        if wish is not None:
            return bool(wish)
    return True


class Priorities(Quiet):
    """The priority of a pod is the number behind its class."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attempt: Attempt) -> None:
        """Look the class up and write its number down.

        Raises:
            Forbidden: for an unknown class, or a number that is not the class's.
        """
        if not is_new(attempt, "pods"):
            return
        spec = (attempt.value or {}).setdefault("spec", {})
        number, policy = self._priority(attempt, spec)
        given = spec.get("priority")
        if given is not None and given != number:
            raise refusal(
                attempt,
                f"the integer value of priority ({given}) must not be provided in pod spec;"
                f" priority admission controller computed {number} from the given PriorityClass"
                " name",
            )
        spec["priority"] = number
        if spec.get("preemptionPolicy") is None:
            spec["preemptionPolicy"] = policy

    def _priority(self, attempt: Attempt, spec: Object) -> tuple[int, str]:
        name = spec.get("priorityClassName") or ""
        if not name:
            return self._default(spec)
        found = stored(self._store, "priorityclasses.scheduling.k8s.io", "", name)
        if found is not None:
            return found.get("value") or 0, found.get("preemptionPolicy") or _PREEMPT
        if name in _SYSTEM_PRIORITIES:
            return _SYSTEM_PRIORITIES[name], _PREEMPT
        raise refusal(attempt, f"no PriorityClass with name {name} was found")

    def _default(self, spec: Object) -> tuple[int, str]:
        for each in all_stored(self._store, "priorityclasses.scheduling.k8s.io"):
            if each.get("globalDefault"):
                spec["priorityClassName"] = each["metadata"]["name"]
                return each.get("value") or 0, each.get("preemptionPolicy") or _PREEMPT
        return 0, _PREEMPT


class DefaultTolerations(Quiet):
    """Pods stay five minutes on a node that is in trouble, unless they say otherwise."""

    _KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    _SECONDS = 300

    def admit(self, attempt: Attempt) -> None:
        """Add what is not tolerated yet."""
        if not is_new(attempt, "pods"):
            return
        spec = (attempt.value or {}).setdefault("spec", {})
        tolerations = items(spec, "tolerations")
        missing = [key for key in self._KEYS if not any(_covers(each, key) for each in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *map(self._toleration, missing)]

    def _toleration(self, key: str) -> dict[str, Any]:
        return {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": self._SECONDS,
        }


def _covers(toleration: dict[str, Any], key: str) -> bool:
    return (toleration.get("key") or "") in ("", key) and (toleration.get("effect") or "") in (
        "",
        "NoExecute",
    )


class StorageProtection(Quiet):
    """Claims and volumes in use are not deleted; claims without a class get the default one."""

    _FINALIZERS = {  # noqa: RUF012 - never changed
        "persistentvolumeclaims": "kubernetes.io/pvc-protection",
        "persistentvolumes": "kubernetes.io/pv-protection",
    }

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attempt: Attempt) -> None:
        """Add finalizer and class."""
        resource = attempt.resource.gvr.group_resource
        if resource not in self._FINALIZERS or not is_new(attempt, resource):
            return
        value = attempt.value or {}
        finalizers = value["metadata"].get("finalizers") or []
        if self._FINALIZERS[resource] not in finalizers:
            value["metadata"]["finalizers"] = [*finalizers, self._FINALIZERS[resource]]
        if resource == "persistentvolumeclaims":
            self._choose_class(value)

    def _choose_class(self, claim: Object) -> None:
        spec = claim.setdefault("spec", {})
        if spec.get("storageClassName") is not None:
            return
        for each in all_stored(self._store, "storageclasses.storage.k8s.io"):
            annotations = mapping(each, "metadata", "annotations")
            if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
                spec["storageClassName"] = each["metadata"]["name"]
                return
