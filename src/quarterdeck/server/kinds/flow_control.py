"""Flow schemas and priority levels: how they change, and what kubectl shows of them."""

from collections.abc import Sequence
from datetime import datetime

from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    NONE,
    build_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import STATUS, Context, Object

_SPEC = ("spec",)


def _reset_status(value: Object, context: Context) -> None:
    value[STATUS] = {}


def _default_schema(value: Object) -> None:
    set_defaults(value.setdefault("spec", {}), matchingPrecedence=1000)


def _default_level(value: Object) -> None:
    spec = value.setdefault("spec", {})
    if spec.get("type") == "Exempt":
        spec["exempt"] = get_mapping(spec, "exempt")
        set_defaults(spec["exempt"], nominalConcurrencyShares=0, lendablePercent=0)
    limited = spec.get("limited")
    if isinstance(limited, dict):
        set_defaults(limited, nominalConcurrencyShares=30, lendablePercent=0)
        queuing = get_mapping(limited, "limitResponse", "queuing")
        if "queuing" in get_mapping(limited, "limitResponse"):
            set_defaults(queuing, queues=64, handSize=8, queueLengthLimit=50)


def _build_schema_cells(value: Object, now: datetime) -> Sequence[object]:
    conditions = get_items(value, STATUS, "conditions")
    dangling = [each.get("status", "") for each in conditions if each.get("type") == "Dangling"]
    spec = get_mapping(value, "spec")
    return (
        value["metadata"].get("name", ""),
        get_field(spec, "priorityLevelConfiguration", "name") or "",
        spec.get("matchingPrecedence", 0),
        get_field(spec, "distinguisherMethod", "type") or NONE,
        format_creation_age(value, now),
        dangling[0] if dangling else "?",
    )


def _build_level_cells(value: Object, now: datetime) -> Sequence[object]:
    limited = get_mapping(value, "spec", "limited")
    queuing = get_mapping(limited, "limitResponse", "queuing")
    return (
        value["metadata"].get("name", ""),
        get_field(value, "spec", "type") or "",
        limited.get("nominalConcurrencyShares", NONE),
        queuing.get("queues", NONE),
        queuing.get("handSize", NONE),
        queuing.get("queueLengthLimit", NONE),
        format_creation_age(value, now),
    )


FLOW_SCHEMA = Rules(
    default=_default_schema,
    prepare_create=_reset_status,
    generation_fields=_SPEC,
    allows_unconditional_update=False,
    columns=(
        NAME,
        build_column("PriorityLevel"),
        build_column("MatchingPrecedence"),
        build_column("DistinguisherMethod"),
        AGE,
        build_column(
            "MissingPL", text="references a broken or non-existent PriorityLevelConfiguration"
        ),
    ),
    cells=_build_schema_cells,
)
PRIORITY_LEVEL = Rules(
    default=_default_level,
    prepare_create=_reset_status,
    generation_fields=_SPEC,
    allows_unconditional_update=False,
    columns=(
        NAME,
        build_column("Type"),
        build_column("NominalConcurrencyShares"),
        build_column("Queues"),
        build_column("HandSize"),
        build_column("QueueLengthLimit"),
        AGE,
    ),
    cells=_build_level_cells,
)
