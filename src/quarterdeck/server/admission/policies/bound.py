"""The policies of one kind with their bindings: finds those that match a write, and their params.

Policies and bindings are read from the store when they change. A policy without a binding decides
nothing.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.identity import GVK
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.matching import (
    EquivalentResources,
    find_match,
    matches_labels,
    matches_namespace,
)
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import Store, StoreEvent, StoreKey

if TYPE_CHECKING:
    from quarterdeck.server.admission.policies.params import Params
    from quarterdeck.server.admission.policies.policy import Binding, Match


class BoundPolicy(Protocol):
    """The members that validating and mutating policies have in common."""

    name: str
    fails_closed: bool
    match: "Match"
    param_kind: GVK | None


P = TypeVar("P", bound=BoundPolicy)


class Source(NamedTuple):
    """The stored resources of one kind of policy and of its bindings."""

    policies: str
    bindings: str


class Invocation(NamedTuple):
    """One evaluation of a policy: its binding, its params, and the resource the policy sees."""

    binding: "Binding"
    params: "Params | None"
    seen_as: Resource


class Misconfiguration(NamedTuple):
    """A policy that cannot be evaluated for one binding, or for any if `binding` is None."""

    binding: "Binding | None"
    text: str


class BoundPolicies(Generic[P]):
    """Policies and bindings of one kind."""

    def __init__(
        self, store: Store, registry: Registry, source: Source, *, parse: Callable[[Object], P]
    ) -> None:
        self._store = store
        self._registry = registry
        self._source = source
        self._parse = parse
        self._equivalents = EquivalentResources(registry)
        self._policies: dict[str, P] = {}
        self._bindings: dict[str, Binding] = {}
        self.bound: tuple[tuple[P, tuple[Binding, ...]], ...] = ()
        """Policies with their bindings, in the order of names."""

    def start(self) -> None:
        """Read what is stored, and follow changes from now on."""
        snapshot = self._store.snapshot()
        for resource in self._source:
            for entry in snapshot.range(resource):
                self._put(entry.key, entry.value)
        self._bind()
        self._store.subscribe(self._apply_events)

    def find_invocations(
        self, policy: P, bindings: "Sequence[Binding]", attributes: AdmissionAttributes
    ) -> Iterator[Invocation | Misconfiguration]:
        """Yield each evaluation of a policy that a write needs; nothing if it does not match."""
        from quarterdeck.server.admission.policies.params import ParamError

        seen_as = self._match(policy.match, attributes)
        if seen_as is None:
            return
        parameters: Resource | None = None
        if policy.param_kind is not None:
            parameters = self._registry.find_by_kind(policy.param_kind)
            if parameters is None:
                gvk = policy.param_kind
                yield Misconfiguration(
                    None,
                    "failed to configure policy: failed to find resource referenced by paramKind:"
                    f" '{gvk.api_version}, Kind={gvk.kind}'",
                )
                return
        for binding in bindings:
            if binding.match is not None and self._match(binding.match, attributes) is None:
                continue
            try:
                for params in self._collect(binding, parameters, attributes):
                    yield Invocation(binding, params, seen_as)
            except ParamError as error:
                yield Misconfiguration(binding, f"failed to configure binding: {error}")

    def find_namespace(self, attributes: AdmissionAttributes) -> bytes:
        """Return the stored JSON of the write's namespace; `null` for cluster-scoped objects."""
        if not attributes.namespace or attributes.resource.gvr.group_resource == "namespaces":
            return b"null"
        entry = self._store.get_pending(StoreKey("namespaces", "", attributes.namespace))
        return b"null" if entry is None else entry.value

    def _collect(
        self, binding: "Binding", resource: Resource | None, attributes: AdmissionAttributes
    ) -> "Sequence[Params | None]":
        if resource is None or binding.params is None:
            return (None,)
        from quarterdeck.server.admission.policies.params import collect_params

        return collect_params(self._store, resource, binding.params, namespace=attributes.namespace)

    def _match(self, match: "Match", attributes: AdmissionAttributes) -> Resource | None:
        """Return the resource by which a policy or binding matches a write; None if it does not."""
        if not matches_labels(match.object_selector, attributes):
            return None
        equivalents = self._equivalents.get(attributes.resource)
        if match.excluded and find_match(
            match.excluded, attributes, equivalents, is_exact=match.is_exact
        ):
            return None
        if not match.rules:
            seen_as: Resource | None = attributes.resource
        else:
            seen_as = find_match(match.rules, attributes, equivalents, is_exact=match.is_exact)
        if seen_as is None:
            return None
        if not matches_namespace(match.namespace_selector, attributes, self._store):
            return None
        return seen_as

    def _apply_events(self, events: Sequence[StoreEvent]) -> None:
        changed = [event for event in events if event.key.resource in self._source]
        for event in changed:
            if event.after is None:
                self._choose(event.key).pop(event.key.name, None)
            else:
                self._put(event.key, event.after.value)
        if changed:
            self._bind()

    def _choose(self, key: StoreKey) -> dict[str, Any]:
        return self._policies if key.resource == self._source.policies else self._bindings

    def _put(self, key: StoreKey, value: bytes) -> None:
        from quarterdeck.server.admission.policies.policy import Binding

        is_policy = key.resource == self._source.policies
        parse: Callable[[Object], object] = self._parse if is_policy else Binding
        try:
            self._choose(key)[key.name] = parse(kit_json.decode(value))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._choose(key).pop(key.name, None)
            message = f"cannot decode {key.resource} {key.name!r}; it has no effect, write it again"
            context = {"message": message, "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    def _bind(self) -> None:
        by_policy: dict[str, list[Binding]] = {}
        for name in sorted(self._bindings):
            binding = self._bindings[name]
            by_policy.setdefault(binding.policy, []).append(binding)
        self.bound = tuple(
            (self._policies[name], tuple(by_policy[name]))
            for name in sorted(by_policy)
            if name in self._policies
        )
