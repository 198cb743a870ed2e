"""API services and component statuses: validation and table cells."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, invalid, quote
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import STATUS, Context, Object


def _find_condition(conditions: Sequence[Object], kind: str) -> Object:
    return next((each for each in conditions if each.get("type") == kind), {})


def _build_service_cells(value: Object, now: datetime) -> Sequence[object]:
    service = get_mapping(value, "spec", "service")
    found = _find_condition(get_items(value, STATUS, "conditions"), "Available")
    status = found.get("status") or "Unknown"
    if status != "True" and found.get("reason"):
        status = f"{status} ({found['reason']})"
    return (
        value["metadata"].get("name", ""),
        f"{service.get('namespace')}/{service.get('name')}" if service else "Local",
        status,
        format_creation_age(value, now),
    )


def _build_component_cells(value: Object, now: datetime) -> Sequence[object]:
    found = _find_condition(get_items(value, "conditions"), "Healthy")
    healthy = "Healthy" if found.get("status") == "True" else "Unhealthy"
    return (
        value["metadata"].get("name", ""),
        healthy if found else "Unknown",
        found.get("message", ""),
        found.get("error", ""),
    )


def _validate_service(value: Object, context: Context) -> Iterator[FieldError]:
    """Check the name, priorities and Service of an APIService."""
    spec = get_mapping(value, "spec")
    group, version = spec.get("group") or "", spec.get("version") or ""
    name = value["metadata"].get("name") or ""
    if name != (expected := f"{version}.{group}"):
        text = f'must be `spec.version+"."+spec.group`: {quote(expected)}'
        yield invalid("metadata.name", name, text)
    for member, limit in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        number = spec.get(member) or 0
        if not 0 < number <= limit:
            text = f"must be positive and less than {limit}"
            yield invalid(f"spec.{member}", number, text)


API_SERVICE = Rules(
    validate=_validate_service,
    allows_unconditional_update=False,
    columns=(
        NAME,
        build_column("Service", text="The reference to the service that hosts this API endpoint."),
        build_column("Available", text="Whether this service is available."),
        AGE,
    ),
    cells=_build_service_cells,
)
COMPONENT_STATUS = Rules(
    columns=(
        NAME,
        build_column("Status", text="Status of the component conditions"),
        build_column("Message", text="Message of the component conditions"),
        build_column("Error", text="Error of the component conditions"),
    ),
    cells=_build_component_cells,
)
