"""The MetricSources in the store, by id and by the type that policies name."""

import builtins
from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec
from quarterdeck.engine import CompiledSource, SourceError, compile_source
from quarterdeck.hubstate import keys
from quarterdeck.hubstate.ports import StateReader
from quarterdeck.services.hub.reading import decode


class KnownSource(msgspec.Struct, frozen=True, kw_only=True):
    """A MetricSource as the store describes it."""

    id: str
    """`namespace/name`."""
    type: str
    """The resourceTypeName; empty if policies cannot name it."""
    filters_aggregations: bool
    definition: Mapping[str, Any]

    @property
    def aggregations(self) -> tuple[str, ...]:
        """Names of its aggregations."""
        return self._names("aggregations")

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of its fields, computed ones included."""
        return (*self._names("fields"), *self._names("computed"))

    def _names(self, part: str) -> tuple[str, ...]:
        found = self.definition.get(part)
        rows = found if isinstance(found, list) else []
        return tuple(str(each.get("name", "")) for each in rows if isinstance(each, dict))


class Catalog:
    """Finds sources, and compiles them when aggregations must be computed again."""

    def __init__(self, state: StateReader) -> None:
        self._state = state
        self._compiled: dict[str, tuple[str, CompiledSource | None]] = {}

    async def list(self) -> list[KnownSource]:
        """Every source that policies can name, by type."""
        return [each for each in await self._list_all() if each.type]

    async def list_with_alerts(self) -> "builtins.list[KnownSource]":
        """Every source that has alert rules; those without a type are for masters only."""
        return [each for each in await self._list_all() if each.definition.get("alerts")]

    async def _list_all(self) -> "builtins.list[KnownSource]":
        ids = sorted(await self._state.get_members(keys.SOURCES))
        found = await self._state.get_many([keys.source(*_split(each)) for each in ids])
        known = (_read(each, decode(data)) for each, data in zip(ids, found, strict=True))
        return sorted(
            (each for each in known if each is not None),
            key=lambda each: (each.type, each.id),
        )

    async def find(self, name: str) -> KnownSource | None:
        """A source by id or by type; of several with one type the first."""
        if "/" in name:
            return _read(name, decode(await self._state.get(keys.source(*_split(name)))))
        ids = sorted(await self._state.get_members(keys.sources_of_type(name)))
        return await self.find(ids[0]) if ids and "/" in ids[0] else None

    def compile(self, source: KnownSource) -> CompiledSource | None:
        """The source ready to aggregate; None if this version cannot compile it."""
        digest = str(source.definition.get("hash", ""))
        known = self._compiled.get(source.id)
        if known is None or known[0] != digest or not digest:
            known = self._compiled[source.id] = (digest, _compile(source.definition))
        return known[1]


def _split(identity: str) -> tuple[str, str]:
    namespace, _, name = identity.partition("/")
    return namespace, name


def _read(identity: str, definition: Any) -> KnownSource | None:
    if not isinstance(definition, dict):
        return None
    access = definition.get("rbac")
    access = access if isinstance(access, dict) else {}
    return KnownSource(
        id=identity,
        type=str(access.get("resourceTypeName") or ""),
        filters_aggregations=access.get("filterAggregations") is not False,
        definition=definition,
    )


def _compile(definition: Mapping[str, Any]) -> CompiledSource | None:
    target = definition.get("source") or {}
    document = {
        "source": {"apiVersion": target.get("apiVersion"), "kind": target.get("kind")},
        "fields": [
            {key: value for key, value in each.items() if key in _FIELD}
            for each in definition.get("fields") or ()
        ],
        "computed": definition.get("computed") or [],
        "aggregations": definition.get("aggregations") or [],
        "alerts": definition.get("alerts") or [],
        "rbac": definition.get("rbac") or {},
    }
    try:
        return compile_source(msgspec.convert(document, MetricSourceSpec))
    except (msgspec.ValidationError, SourceError):
        return None


_FIELD = ("name", "path", "type", "default")
