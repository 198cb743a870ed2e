"""Runtime classes: how the containers of a pod are run."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.server.kinds.container_validation import validate_resources
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.pod_validation import validate_tolerations
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.metadata_validation import validate_labels
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object


def _build_runtime_class_cells(value: Object, now: datetime) -> Sequence[object]:
    return (
        value["metadata"].get("name", ""),
        value.get("handler") or "",
        format_creation_age(value, now),
    )


def _validate_runtime_class(value: Object, context: Context) -> Iterator[FieldError]:
    handler = value.get("handler") or ""
    for problem in names.check_dns1123_label(handler):
        yield invalid("handler", handler, problem)
    if (overhead := value.get("overhead")) is not None:
        limits = {"limits": get_mapping(overhead, "podFixed")}
        yield from validate_resources(limits, "overhead")
    scheduling = get_mapping(value, "scheduling")
    selector = get_mapping(scheduling, "nodeSelector")
    yield from validate_labels(selector, "scheduling.nodeSelector")
    yield from validate_tolerations(
        get_items(scheduling, "tolerations"), "scheduling.tolerations.tolerations"
    )


RUNTIME_CLASS = Rules(
    validate=_validate_runtime_class,
    allows_unconditional_update=False,
    allows_create_on_update=True,
    columns=(NAME, build_column("Handler"), AGE),
    cells=_build_runtime_class_cells,
)
