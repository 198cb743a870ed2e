"""What a reconciler gets beside its object: reads, writes, status, events, a logger.

Everything done through it is recorded and shown by `explain`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, overload

from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import GVK, Key
from quarterdeck.meta.objects import (
    Object,
    build_owner_reference,
    to_builtins,
    with_metadata,
)
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.runtime.reconcile.client import ReconcileClient, build_apply_configuration
from quarterdeck.runtime.reconcile.status import StatusDraft
from quarterdeck.wire.status import NotFound

T = TypeVar("T", bound=Object)
K = TypeVar("K", bound=Object)


class EventSink(Protocol):
    """Records Kubernetes events; never blocks and never fails."""

    def record(
        self, regarding: Object, *, type_: str, reason: str, message: str, action: str = ""
    ) -> None:
        """Record that something happened to an object."""
        ...


class Context(Generic[T]):
    """What one reconcile of one object reads, writes and reports with."""

    def __init__(
        self,
        obj: T,
        *,
        client: ReconcileClient,
        clock: Clock,
        events: EventSink,
        log: Logger,
        reconcile_id: str,
        attempt: int,
        owned_conditions: Iterable[str],
    ) -> None:
        self.obj = obj
        self.api = client
        """Reads and writes without the conveniences below."""
        self.reconcile_id = reconcile_id
        self.attempt = attempt
        """How many times in a row this object failed before; 0 at first."""
        self._clock = clock
        self._events = events
        self._log = log
        self._bound_log: Logger | None = None
        self.started = clock.now()
        self.status: StatusDraft[T] = StatusDraft(obj, self.started, owned_conditions)

    @property
    def key(self) -> Key:
        """Namespace and name of the object."""
        return self.obj.key

    @property
    def log(self) -> Logger:
        """A logger that names the object and this reconcile."""
        if self._bound_log is None:
            self._bound_log = self._log.bind(
                kind=self.obj.kind,
                namespace=self.key.namespace,
                name=self.key.name,
                reconcile_id=self.reconcile_id,
            )
        return self._bound_log

    def now(self) -> datetime:
        """The current time, by the clock of the manager; tests pass a virtual clock."""
        return self._clock.now()

    @property
    def clock(self) -> Clock:
        """The clock itself."""
        return self._clock

    # --- reads; the namespace is the object's own unless another is named

    async def get(self, kind: type[K], name: str, namespace: str | None = None) -> K:
        """An object; raises `NotFound`."""
        found = await self.find(kind, name, namespace)
        if found is None:
            raise NotFound.of(kind.KIND.plural, name, group=kind.KIND.group)
        return found

    async def find(self, kind: type[K], name: str, namespace: str | None = None) -> K | None:
        """An object, or None."""
        return await self.api.find(
            kind, name, self.key.namespace if namespace is None else namespace
        )

    async def list(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        labels: str = "",
        index: tuple[str, str] | None = None,
    ) -> list[K]:
        """Objects of a kind: in all namespaces, or in one, matching labels or found by an index."""
        return await self.api.list(kind, namespace=namespace, labels=labels, index=index)

    async def list_owned(self, kind: type[K]) -> "Sequence[K]":
        """The objects of a kind that this object owns."""
        return await self.api.list_owned(kind, self.obj)

    # --- writes

    @overload
    async def apply(self, child: K, *, owned: bool = True, force: bool = True) -> K: ...

    @overload
    async def apply(
        self, child: Mapping[str, Any], *, owned: bool = True, force: bool = True
    ) -> dict[str, Any]: ...

    async def apply(
        self, child: "K | Mapping[str, Any]", *, owned: bool = True, force: bool = True
    ) -> "K | dict[str, Any]":
        """Bring an object to the state given here, by server-side apply.

        It is in the namespace of the reconciled object unless it names another, and is deleted
        with it if `owned`. Only the fields set here are ours. Nothing is sent if nothing changes.

        A plain dictionary is a manifest of any kind the server knows. It is always sent, because
        nothing is cached of kinds without a type.
        """
        if isinstance(child, Mapping):
            manifest = place_manifest(child, self.obj, owned=owned)
            if owned:
                metadata = manifest["metadata"]
                is_namespaced = await self.api.is_namespaced(manifest)
                namespace = metadata.get("namespace", "") if is_namespaced else ""
                _check_owner(self.obj, manifest["kind"], metadata["name"], namespace)
            return await self.api.apply_document(manifest, force=force)
        return await self.api.apply(
            type(child), self._build_desired(child, owned=owned), force=force
        )

    @overload
    async def apply_all(
        self, children: "Iterable[Object]", *, prune: "Sequence[type[Object]]" = ()
    ) -> "Sequence[Object]": ...

    @overload
    async def apply_all(
        self,
        children: "Iterable[Object | Mapping[str, Any]]",
        *,
        prune: "Sequence[type[Object]]" = (),
    ) -> "Sequence[Object | dict[str, Any]]": ...

    async def apply_all(
        self,
        children: "Iterable[Object | Mapping[str, Any]]",
        *,
        prune: "Sequence[type[Object]]" = (),
    ) -> "Sequence[Object | dict[str, Any]]":
        """Apply this set of owned children in order, then delete what else we own of `prune`.

        Children may be plain dictionaries, as in `apply`.
        """
        applied: list[Object | dict[str, Any]] = [await self.apply(child) for child in children]
        keep = {_identify(child) for child in applied}
        for kind in prune:
            for obj in await self.list_owned(kind):
                if _identify(obj) not in keep and not obj.is_deleting:
                    await self.api.delete(obj, propagation="Background")
        return applied

    async def create(self, child: K, *, owned: bool = True) -> K:
        """Create an object; raises `AlreadyExists`."""
        return await self.api.create(_place_child(child, self.obj, owned=owned))

    async def update(self, changed: K) -> K:
        """Send what changed since the object was read; raises `Conflict` if others changed it."""
        return await self.api.update(changed)

    async def delete(self, obj: Object, *, propagation: str | None = None) -> None:
        """Delete an object; an absent object is not an error."""
        await self.api.delete(obj, propagation=propagation)

    def _build_desired(self, child: Object, *, owned: bool) -> dict[str, Any]:
        return build_apply_configuration(_place_child(child, self.obj, owned=owned))

    # --- events

    def event(self, reason: str, message: str, *, warning: bool = False, action: str = "") -> None:
        """Record a Kubernetes event; repeated events are counted, and their rate is limited."""
        self._events.record(
            self.obj,
            type_="Warning" if warning else "Normal",
            reason=reason,
            message=message,
            action=action or "Reconcile",
        )


def _identify(child: Object | Mapping[str, Any]) -> tuple[str, str, Key]:
    """Group, kind and key of a typed object or of a plain dictionary."""
    if isinstance(child, Mapping):
        gvk, metadata = GVK.of(child["apiVersion"], child["kind"]), child["metadata"]
        return gvk.group, gvk.kind, Key(metadata.get("namespace", ""), metadata["name"])
    return child.KIND.group, child.KIND.kind, child.key


def place_manifest(manifest: Mapping[str, Any], owner: Object, *, owned: bool) -> dict[str, Any]:
    """A manifest in the namespace of its owner and, if owned, with a reference to it.

    Raises:
        ValueError: naming the member that is missing.
    """
    metadata = dict(manifest.get("metadata") or {})
    for name in ("apiVersion", "kind"):
        if not manifest.get(name):
            known = f"its metadata.name is {metadata.get('name', '')!r}"
            raise ValueError(f"cannot apply a manifest without {name}; {known}")
    if not metadata.get("name"):
        raise ValueError(f"cannot apply a {manifest['kind']} without metadata.name")
    if owner.KIND.is_namespaced:
        metadata.setdefault("namespace", owner.metadata.namespace)
    if owned:
        reference = to_builtins(build_owner_reference(owner))
        metadata["ownerReferences"] = [*metadata.get("ownerReferences", ()), reference]
    return {**manifest, "metadata": metadata}


def _place_child(child: K, owner: Object, *, owned: bool) -> K:
    """The child in its namespace and, if owned, with a reference to its owner."""
    changes: dict[str, Any] = {}
    namespace = child.metadata.namespace
    if child.KIND.is_namespaced and not namespace:
        namespace = changes["namespace"] = owner.metadata.namespace
    if owned:
        _check_owner(owner, child.KIND.kind, child.metadata.name, namespace)
        reference = build_owner_reference(owner)
        others = [ref for ref in child.metadata.owner_references if ref.uid != reference.uid]
        changes["owner_references"] = (*others, reference)
    return with_metadata(child, **changes) if changes else child


def _check_owner(owner: Object, kind: str, name: str, namespace: str) -> None:
    """Refuse an owner that Kubernetes does not find: its garbage collector deletes the child."""
    if owner.KIND.is_namespaced and namespace != owner.metadata.namespace:
        raise ValueError(
            f"{owner.KIND.kind} {owner.key} cannot own {kind} "
            f"{name} in {namespace or 'no namespace'}: an owner must be in the "
            "same namespace or cluster-scoped; pass owned=False and delete it in a finalizer"
        )
