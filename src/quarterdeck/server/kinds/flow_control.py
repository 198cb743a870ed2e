"""Flow schemas and priority levels: rules, defaults, and what kubectl shows of them."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, NONE, build_column, format_creation_age
from quarterdeck.server.registry.resource import STATUS, Context, Object

_SPEC = ("spec",)
_LEVEL = "spec.priorityLevelConfiguration"
_LARGEST_PRECEDENCE = 10000


def _reset_status(value: Object, context: Context) -> None:
    value[STATUS] = {}


def _default_schema(value: Object) -> None:
    spec = value.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


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


def _validate_schema(value: Object, context: Context) -> Iterator[FieldError]:
    spec, name = get_mapping(value, "spec"), value["metadata"].get("name") or ""
    precedence = spec.get("matchingPrecedence") or 0
    path = "spec.matchingPrecedence"
    if precedence <= 0:
        yield invalid(path, precedence, "must be a positive value")
    if precedence > _LARGEST_PRECEDENCE:
        text = f"must not be greater than {_LARGEST_PRECEDENCE}"
        yield invalid(path, precedence, text)
    if precedence == 1 and name != "exempt":
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        yield invalid(path, precedence, text)
    level, path = get_mapping(spec, "priorityLevelConfiguration").get("name"), f"{_LEVEL}.name"
    if not level:
        yield required(path, "must reference a priority level")
    else:
        yield from (invalid(path, level, each) for each in names.check_dns1123_subdomain(level))
    for index, rule in enumerate(get_items(spec, "rules")):
        if not rule.get("subjects"):
            text = "subjects must contain at least one value"
            yield required(f"spec.rules[{index}].subjects", text)
        if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
            text = "at least one of resourceRules and nonResourceRules has to be non-empty"
            yield required(f"spec.rules[{index}]", text)


def _validate_level(value: Object, context: Context) -> Iterator[FieldError]:
    spec, name = get_mapping(value, "spec"), value["metadata"].get("name") or ""
    kind, limited = spec.get("type") or "", spec.get("limited")
    if (name == "exempt") != (kind == "Exempt"):
        text = "type must be 'Exempt' if and only if name is 'exempt'"
        yield invalid("spec.type", kind, text)
    if kind == "Exempt" and limited is not None:
        yield forbidden("spec.limited", "must be nil if the type is not Limited")
    elif kind == "Limited":
        if spec.get("exempt") is not None:
            yield forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from _validate_limited(limited, "spec.limited")
    elif kind != "Exempt":
        yield not_supported("spec.type", kind, ("Exempt", "Limited"))


def _validate_limited(limited: Object, path: str) -> Iterator[FieldError]:
    shares = limited.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        text = "must be a non-negative integer"
        yield invalid(f"{path}.nominalConcurrencyShares", shares, text)
    response = get_mapping(limited, "limitResponse")
    kind, place = response.get("type") or "", f"{path}.limitResponse"
    if kind not in ("Queue", "Reject"):
        yield not_supported(f"{place}.type", kind, ("Queue", "Reject"))
    elif kind == "Reject" and response.get("queuing") is not None:
        text = "must be nil if limited.limitResponse.type is not Limited"
        yield forbidden(f"{place}.queuing", text)
    lendable, borrowing = limited.get("lendablePercent"), limited.get("borrowingLimitPercent")
    if lendable is not None and not 0 <= lendable <= 100:
        text = "must be between 0 and 100, inclusive"
        yield invalid(f"{path}.lendablePercent", lendable, text)
    if borrowing is not None and borrowing < 0:
        text = "if specified, must be a non-negative integer"
        yield invalid(f"{path}.borrowingLimitPercent", borrowing, text)


FLOW_SCHEMA = Rules(
    validate=_validate_schema,
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
PRIORITY_LEVEL_CONFIGURATION = Rules(
    validate=_validate_level,
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
