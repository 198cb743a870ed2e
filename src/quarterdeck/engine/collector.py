"""Feeds pages of objects through a compiled source: columns, rows and running aggregations."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from quarterdeck.engine.results import AggregationValue, Resource, Value


class Batch(Protocol):
    """The values of the objects of one page, by column."""

    columns: Mapping[str, Sequence[Value]]
    """Values by field name, extracted and computed ones; one entry per kept object."""

    def __len__(self) -> int:
        """How many objects were kept."""
        ...

    def resources(self) -> list[Resource]:
        """The rows as the store keeps them."""
        ...


class Collector(Protocol):
    """Takes the objects of one cluster page by page; knows the limit and the namespaces."""

    count: int
    """Objects kept so far."""
    is_truncated: bool
    """Whether objects were left out because the limit was reached."""

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached, so that further pages need not be asked for."""
        ...

    def feed(self, objects: Sequence[Mapping[str, Any]]) -> Batch:
        """Keep the objects of wanted namespaces up to the limit; compute their values."""
        ...

    def finish(self) -> dict[str, AggregationValue]:
        """Aggregations over everything that was fed, by name."""
        ...
