"""The compiled form of a MetricSource: the steps of a collection, in order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from quarterdeck.engine.aggregation import CompiledAggregation
from quarterdeck.engine.columns import Columns
from quarterdeck.engine.expressions.compiler import Moment
from quarterdeck.engine.extraction import Extractor
from quarterdeck.engine.identity import Identity
from quarterdeck.engine.paths import Key, Path
from quarterdeck.engine.target import Target

_METADATA: tuple[Path, ...] = tuple(
    (Key("metadata"), Key(name)) for name in ("name", "namespace", "labels")
)
METADATA_NAMES = ("namespace", "name", "_namespace", "_name")
"""Names that expressions, filters and groups may use without a field: an object's identity."""


class ColumnConverter(Protocol):
    """Converts the raw values of one field."""

    def convert(self, raw: list[Any]) -> list[Any]:
        """One value per raw value."""
        ...


class ColumnExpression(Protocol):
    """Computes one more column from columns."""

    def evaluate(self, columns: Columns, size: int, moment: Moment) -> list[Any]:
        """The values for `size` objects."""
        ...


class CompiledField(NamedTuple):
    """One extracted column."""

    name: str
    path: Path
    converter: ColumnConverter


class CompiledComputed(NamedTuple):
    """One computed column."""

    name: str
    expression: ColumnExpression


class Program:
    """The compiled parts of one source; shared by its collections."""

    def __init__(
        self,
        target: Target,
        fields: Sequence[CompiledField],
        *,
        computed: Sequence[CompiledComputed],
        aggregations: Sequence[CompiledAggregation],
        names: Sequence[str],
    ) -> None:
        self.target = target
        self.fields = tuple(fields)
        self.computed = tuple(computed)
        """In the order in which they can be computed."""
        self.aggregations = tuple(aggregations)
        self.columns = tuple(names)
        """Fields and computed fields as the spec lists them."""
        self.extractor = Extractor([*(field.path for field in fields), *_METADATA])
        self._make_rows = _compile_rows(self.columns)

    @staticmethod
    def metadata_columns(identity: Identity) -> Columns:
        """The identity of objects under the names that expressions use."""
        columns = Columns()
        columns["namespace"] = columns["_namespace"] = identity.namespaces
        columns["name"] = columns["_name"] = identity.names
        return columns

    def make_rows(self, columns: Mapping[str, list[Any]], size: int) -> list[dict[str, Any]]:
        """Columns to one dictionary per object."""
        if not self.columns:
            return [{} for _ in range(size)]
        return self._make_rows(*(columns[name] for name in self.columns))


def _compile_rows(names: Sequence[str]) -> Callable[..., list[dict[str, Any]]]:
    """Compile a function that builds one dictionary per object from these columns."""
    inputs = ", ".join(f"c{index}" for index in range(len(names)))
    targets = ", ".join(f"v{index}" for index in range(len(names)))
    members = ", ".join(f"{name!r}: v{index}" for index, name in enumerate(names))
    text = f"def rows({inputs}):\n    return [{{{members}}} for {targets}, in zip({inputs})]"
    scope: dict[str, Any] = {"__builtins__": {"zip": zip}}
    exec(compile(text, "<rows>", "exec"), scope)
    rows: Callable[..., list[dict[str, Any]]] = scope["rows"]
    return rows
