"""Feeds pages of objects through a compiled source: columns, rows and running aggregations."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.engine.aggregation import BatchView, RunningAggregation
from quarterdeck.engine.expressions.compiler import Moment
from quarterdeck.engine.identity import Identity
from quarterdeck.engine.results import AggregationValue, Resource
from quarterdeck.engine.values import MISSING, Missing

if TYPE_CHECKING:
    from quarterdeck.engine.program import Program


class Batch:
    """The values of the objects of one page, by column."""

    __slots__ = ("_labels", "_names", "_namespaces", "_program", "_size", "columns")

    columns: Mapping[str, list[Any]]
    """Values by field name, extracted and computed ones; one entry per kept object."""

    def __init__(
        self, program: "Program", columns: Mapping[str, list[Any]], identity: "Identity"
    ) -> None:
        self.columns = columns
        self._program = program
        self._names, self._namespaces, self._labels = identity.to_lists()
        self._size = len(self._names)

    def __len__(self) -> int:
        """How many objects were kept."""
        return self._size

    def resources(self) -> list[Resource]:
        """The rows as the store keeps them."""
        rows = self._program.make_rows(self.columns, self._size)
        return [
            Resource(
                id=f"{namespace}/{name}" if namespace else name,
                namespace=namespace,
                name=name,
                labels=labels,
                values=values,
            )
            for namespace, name, labels, values in zip(
                self._namespaces, self._names, self._labels, rows, strict=True
            )
        ]


class Collector:
    """Takes the objects of one cluster page by page, within the limit and selected namespaces."""

    count: int
    """Objects kept so far."""
    is_truncated: bool
    """Whether objects were left out because the limit was reached."""

    def __init__(self, program: "Program", moment: Moment, limit: int) -> None:
        self._program = program
        self._moment = moment
        self._limit = limit
        self._running: dict[str, RunningAggregation] = {
            each.spec.name: each.start() for each in program.aggregations
        }
        self.count = 0
        self.is_truncated = False
        self.found: set[str] = set()
        """Fields that at least one object had."""
        self.converted: set[str] = set()
        """Fields and computed fields of which at least one object has a value."""

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached, so that further pages need not be asked for."""
        return self.count >= self._limit

    def feed(self, objects: Sequence[Mapping[str, Any]]) -> Batch:
        """Keep the objects of wanted namespaces up to the limit; compute their values."""
        kept = self._keep(objects)
        *raw, names, namespaces, labels = self._program.extractor.extract(kept)
        identity = Identity(names, namespaces, labels)
        known = self._program.metadata_columns(identity)
        for field, column in zip(self._program.fields, raw, strict=True):
            known[field.name] = field.converter.convert(column)
            self._note(field.name, column, known[field.name])
        for computed in self._program.computed:
            values = computed.expression.evaluate(known, len(kept), self._moment)
            known[computed.name] = values
            if computed.name not in self.converted and not all(each is None for each in values):
                self.converted.add(computed.name)
        view = BatchView(known, len(kept))
        for running in self._running.values():
            running.update(view)
        self.count += len(kept)
        columns = {name: known[name] for name in self._program.columns}
        return Batch(self._program, columns, identity)

    def finish(self) -> dict[str, AggregationValue]:
        """Aggregations over everything that was fed, by name."""
        return {name: running.result() for name, running in self._running.items()}

    def _keep(self, objects: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        namespaces = self._program.target.namespaces
        if not namespaces.accepts_all:
            objects = [each for each in objects if namespaces.matches(_get_namespace(each))]
        room = self._limit - self.count
        if len(objects) > room:
            self.is_truncated = True
            objects = objects[:room]
        return objects

    def _note(self, name: str, raw: list[Any], column: list[Any]) -> None:
        if name in self.converted:
            return
        if name not in self.found and any(type(value) is not Missing for value in raw):
            self.found.add(name)
        pairs = zip(raw, column, strict=True)
        if any(value is not None and given is not MISSING for given, value in pairs):
            self.converted.add(name)


def _get_namespace(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata")
    found = metadata.get("namespace") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""
