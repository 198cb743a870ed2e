"""The registry: the resources that are served at the moment.

Built-in kinds are registered once. The resources of a CustomResourceDefinition are one *bundle*
that is replaced as a whole, so that a request sees either all of its versions or none.
"""

from collections.abc import Callable, Iterable, Iterator

from quarterdeck.meta.identity import GVK, GVR, GroupVersion
from quarterdeck.server.registry.resource import Resource


class Registry:
    """Resources by path and by kind, changeable at run time.

    `generation` counts the changes: caches of derived documents (discovery, OpenAPI) compare
    it. Groups and versions are listed in the order of their registration.
    """

    def __init__(self) -> None:
        self.generation = 0
        self._bundles: dict[str, tuple[Resource, ...]] = {}
        self._by_gvr: dict[GVR, Resource] = {}
        self._by_kind: dict[GVK, Resource] = {}
        self._versions: dict[GroupVersion, None] = {}
        self._subscribers: dict[GVR, dict[int, Callable[[], None]]] = {}
        self._subscriptions = 0

    def put(self, bundle: str, resources: Iterable[Resource]) -> None:
        """Register a bundle, or replace the one of that name."""
        before = self.get_bundle(bundle)
        self._bundles[bundle] = after = tuple(resources)
        self._rebuild()
        self._notify((*before, *after))

    def remove(self, bundle: str) -> None:
        """Stop serving a bundle; an unknown name is not an error."""
        before = self._bundles.pop(bundle, None)
        if before is not None:
            self._rebuild()
            self._notify(before)

    def subscribe(self, gvr: GVR, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when a resource was replaced or removed; returns a function to unsubscribe."""
        number = self._subscriptions = self._subscriptions + 1
        self._subscribers.setdefault(gvr, {})[number] = callback

        def stop() -> None:
            callbacks = self._subscribers.get(gvr, {})
            callbacks.pop(number, None)
            if not callbacks:
                self._subscribers.pop(gvr, None)

        return stop

    def get(self, gvr: GVR) -> Resource | None:
        """Return the resource under a path."""
        return self._by_gvr.get(gvr)

    def find_by_kind(self, gvk: GVK) -> Resource | None:
        """Find the resource that serves a kind."""
        return self._by_kind.get(gvk)

    def get_bundle(self, name: str) -> tuple[Resource, ...]:
        """Return the resources of one bundle; empty if there is none."""
        return self._bundles.get(name, ())

    def serves_version(self, group: str, version: str) -> bool:
        """Whether anything is served under a group and version."""
        return GroupVersion(group, version) in self._versions

    def list_versions(self) -> Iterator[GroupVersion]:
        """List every served group and version, in order of registration."""
        yield from self._versions

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_gvr.values())

    def __len__(self) -> int:
        return len(self._by_gvr)

    def _rebuild(self) -> None:
        resources = [resource for bundle in self._bundles.values() for resource in bundle]
        self._by_gvr = {resource.gvr: resource for resource in resources}
        self._by_kind = {resource.gvk: resource for resource in resources}
        self._versions = {
            GroupVersion(resource.gvr.group, resource.gvr.version): None for resource in resources
        }
        self.generation += 1

    def _notify(self, resources: Iterable[Resource]) -> None:
        for gvr in {resource.gvr for resource in resources}:
            for callback in tuple(self._subscribers.get(gvr, {}).values()):
                callback()
