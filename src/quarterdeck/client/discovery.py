"""The resources of a server, discovered by group version on first use, and cached."""

import contextlib
from typing import TypeVar

import msgspec

from quarterdeck.client import requests
from quarterdeck.client.errors import InvalidResponse
from quarterdeck.client.interfaces import ApiResource
from quarterdeck.client.sender import Sender
from quarterdeck.kit.similar import suggest
from quarterdeck.meta.identity import GVK, GVR, GroupVersion
from quarterdeck.wire.media import JSON
from quarterdeck.wire.path import build_prefix
from quarterdeck.wire.status import ApiError, NotFound

Form = TypeVar("Form", bound=msgspec.Struct)


class _Resource(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    group: str = ""
    version: str = ""
    singular_name: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _ResourceList(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    versions: tuple[_Version, ...]
    preferred_version: _Version | None = None


class _GroupList(msgspec.Struct, frozen=True):
    groups: tuple[_Group, ...] = ()


class _ResponseKind(msgspec.Struct, frozen=True):
    kind: str = ""


class _Subresource(msgspec.Struct, frozen=True):
    subresource: str


class _DiscoveredResource(msgspec.Struct, frozen=True, rename="camel"):
    resource: str
    response_kind: _ResponseKind = _ResponseKind()
    scope: str = ""
    singular_resource: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[_Subresource, ...] = ()

    def to_resource(self) -> _Resource:
        """The same as an entry of an `APIResourceList`."""
        return _Resource(
            name=self.resource,
            kind=self.response_kind.kind,
            namespaced=self.scope == "Namespaced",
            verbs=self.verbs,
            singular_name=self.singular_resource,
            short_names=self.short_names,
            categories=self.categories,
        )


class _DiscoveredVersion(msgspec.Struct, frozen=True):
    version: str
    resources: tuple[_DiscoveredResource, ...] = ()


class _DiscoveredMeta(msgspec.Struct, frozen=True):
    name: str = ""


class _DiscoveredGroup(msgspec.Struct, frozen=True):
    versions: tuple[_DiscoveredVersion, ...] = ()
    metadata: _DiscoveredMeta = _DiscoveredMeta()


class _DiscoveryList(msgspec.Struct, frozen=True):
    kind: str = ""
    items: tuple[_DiscoveredGroup, ...] = ()


_CORE = _Group(versions=(_Version(group_version="v1"),))
_AGGREGATED = "APIGroupDiscoveryList"
_ACCEPT_AGGREGATED = ",".join(
    [
        *(
            f"{JSON};g=apidiscovery.k8s.io;v={version};as={_AGGREGATED}"
            for version in ("v2", "v2beta1")
        ),
        JSON,
    ]
)
"""Everything at once where the server can (Kubernetes since 1.26), else a list of names."""


class Discovery:
    """The resources of one server; a missing kind is not cached, but requested again each time."""

    def __init__(self, transport: Sender) -> None:
        self._transport = transport
        self._found: dict[GVK, ApiResource] = {}
        self._names: dict[str, ApiResource] = {}

    async def discover_resource(self, gvk: GVK, /, *, fresh: bool = False) -> ApiResource:
        """The resource of a kind.

        Raises:
            NotFound: while its CRD is absent.
        """
        if fresh or gvk not in self._found:
            try:
                await self._load(GroupVersion(gvk.group, gvk.version))
            except NotFound:  # there is nothing of its group
                self._found.pop(gvk, None)
        if gvk not in self._found:
            raise NotFound(
                f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}": '
                "install its CustomResourceDefinition first"
            )
        return self._found[gvk]

    async def find_by_name(self, name: str) -> ApiResource:
        """Find a resource by a name such as `pods`, `deploy`, `apps` or `applications.example.com`.

        Raises:
            NotFound: if no resource has this name.
        """
        wanted = name.lower()
        if wanted not in self._names:
            await self._load_all()
        if wanted not in self._names:
            hint = suggest(wanted, self._names)
            raise NotFound(f'the server doesn\'t have a resource type "{name}"{hint}')
        return self._names[wanted]

    async def list_category(self, category: str) -> list[ApiResource]:
        """List the resources of a category such as `all`, each once; empty if there is none."""
        await self._load_all()
        found: dict[tuple[str, str], ApiResource] = {}
        for each in self._found.values():  # the preferred version of each comes first
            if category in each.categories:
                found.setdefault((each.gvr.group, each.gvr.resource), each)
        return list(found.values())

    async def list_resources(self) -> list[ApiResource]:
        """Every resource that can be listed."""
        await self._load_all()
        return [each for name, each in self._names.items() if name == each.gvr.resource]

    async def _load_all(self) -> None:
        """Load all resources: two requests with aggregated discovery, else one for each version.

        A name means the resource in the first version of its group that has it: not every kind of
        a group is served in the version that the group prefers.
        """
        if await self._load_aggregated("/api"):
            await self._load_aggregated("/apis")
        else:
            await self._load_each()

    async def _load_aggregated(self, target: str) -> bool:
        """Load the resources of each group; False without aggregated discovery."""
        listed = await self._read(target, _DiscoveryList, accept=_ACCEPT_AGGREGATED)
        if listed.kind != _AGGREGATED:
            return False
        for group in listed.items:
            named: set[str] = set()
            for each in group.versions:
                version = GroupVersion(group.metadata.name, each.version)
                self._forget(version)
                for found in each.resources:
                    names = frozenset(part.subresource for part in found.subresources)
                    self._remember(found.to_resource(), version, names, named)
        return True

    async def _load_each(self) -> None:
        groups = await self._read("/apis", _GroupList)
        for group in (_CORE, *groups.groups):
            preferred = group.preferred_version or group.versions[0]
            named: set[str] = set()
            for each in dict.fromkeys((preferred, *group.versions)):
                version = GroupVersion.parse(each.group_version)
                with contextlib.suppress(ApiError):  # an aggregated API that is down hides no other
                    await self._load(version, named)

    async def _load(self, group_version: GroupVersion, named: set[str] | None = None) -> None:
        listed = (await self._read(build_prefix(*group_version), _ResourceList)).resources
        subresources: dict[str, set[str]] = {}
        for each in listed:
            parent, slash, name = each.name.partition("/")
            if slash:
                subresources.setdefault(parent, set()).add(name)
        self._forget(group_version)
        for each in listed:
            if "/" not in each.name:
                parts = frozenset(subresources.get(each.name, ()))
                self._remember(each, group_version, parts, set() if named is None else named)

    def _forget(self, group_version: GroupVersion) -> None:
        for gvk in [gvk for gvk in self._found if gvk[:2] == group_version]:
            del self._found[gvk]

    async def _read(self, target: str, form: type[Form], *, accept: str = JSON) -> Form:
        body = await self._transport.send(requests.get_path(target, accept=accept))
        try:
            return msgspec.json.decode(body, type=form)
        except msgspec.DecodeError as error:
            url = f"{self._transport.config.server}{target}"
            raise InvalidResponse(
                f"GET {url}: not a response of a Kubernetes API server, check the address: {error}"
            ) from error

    def _remember(
        self,
        entry: _Resource,
        group_version: GroupVersion,
        subresources: frozenset[str],
        named: set[str],
    ) -> None:
        """Keep a resource; its names mean it unless `named`, which is filled, has it already."""
        group, version = entry.group or group_version.group, entry.version or group_version.version
        found = ApiResource(
            gvr=GVR(group, version, entry.name),
            gvk=GVK(group, version, entry.kind),
            namespaced=entry.namespaced,
            subresources=subresources,
            categories=entry.categories,
        )
        self._found[found.gvk] = found
        if entry.name in named:
            return
        named.add(entry.name)
        for name in (
            entry.name,
            entry.singular_name or entry.kind.lower(),
            entry.kind.lower(),
            *entry.short_names,
        ):
            if "list" in entry.verbs or not entry.verbs:
                self._names.setdefault(name, found)
            self._names[f"{name}.{group}" if group else name] = found
