"""The scheme: the Python type of each kind.

A scheme is built explicitly and passed as an argument; nothing registers itself. Groups can be
given as module names, which are imported when the group is first used, so that a process loads only
the kinds it needs.
"""

import importlib
from collections.abc import Iterable, Iterator, Mapping

from quarterdeck.meta.identity import GVK, GVR, GroupKind, GroupVersion
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, decode


class UnknownKind(LookupError):
    """Raised when no type is registered for a kind or resource."""


class Scheme:
    """A table of kinds, filled eagerly by `add` and lazily by `modules`.

    A module named in `modules` has a tuple `KINDS` of object types.
    """

    def __init__(
        self,
        kinds: Iterable[type[Object]] = (),
        *,
        modules: Mapping[GroupVersion, str] | None = None,
    ) -> None:
        self._modules = dict(modules or {})
        self._by_gvk: dict[GVK, type[Object]] = {}
        self._by_gvr: dict[GVR, type[Object]] = {}
        for kind in kinds:
            self.add(kind)

    def add(self, kind: type[Object]) -> None:
        """Register one type.

        Raises:
            ValueError: if another type is already registered for the kind.
        """
        known = self._by_gvk.setdefault(kind.KIND.gvk, kind)
        if known is not kind:
            raise ValueError(
                f"{kind.KIND.gvk} is already registered as {known.__module__}.{known.__qualname__}"
            )
        if kind.KIND.plural:
            self._by_gvr[kind.KIND.gvr] = kind

    def get_kind(self, gvk: GVK) -> type[Object]:
        """The type of a kind.

        Raises:
            UnknownKind: if there is none.
        """
        if (found := self.find_kind(gvk)) is None:
            raise UnknownKind(f"no type is registered for {gvk}")
        return found

    def find_kind(self, gvk: GVK) -> type[Object] | None:
        """The type of a kind, or `None`."""
        self._load(GroupVersion(gvk.group, gvk.version))
        return self._by_gvk.get(gvk)

    def get_kind_by_resource(self, gvr: GVR) -> type[Object]:
        """Return the type of a resource.

        Raises:
            UnknownKind: if there is none.
        """
        self._load(GroupVersion(gvr.group, gvr.version))
        if (found := self._by_gvr.get(gvr)) is None:
            raise UnknownKind(f"no type is registered for {gvr.group_resource}")
        return found

    def get_info(self, gvk: GVK) -> KindInfo:
        """The description of a kind."""
        return self.get_kind(gvk).KIND

    def list_versions(self, group_kind: GroupKind) -> tuple[type[Object], ...]:
        """Every version of a kind, in order of registration."""
        return tuple(kind for kind in self.list_kinds() if kind.KIND.gvk.group_kind == group_kind)

    def list_kinds(self) -> Iterator[type[Object]]:
        """Every type; loads every group."""
        for group_version in tuple(self._modules):
            self._load(group_version)
        yield from tuple(self._by_gvk.values())

    def decode(self, data: bytes, gvk: GVK) -> Object:
        """Read an object of a registered kind."""
        return decode(self.get_kind(gvk), data)

    def _load(self, group_version: GroupVersion) -> None:
        if (name := self._modules.pop(group_version, None)) is None:
            return
        for kind in importlib.import_module(name).KINDS:
            self.add(kind)
