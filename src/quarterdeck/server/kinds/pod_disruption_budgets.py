"""PodDisruptionBudgets: how many pods may be evicted."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import Bare, FieldError, invalid, prints_json
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.conditions import validate_conditions
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_POLICY = "unhealthyPodEvictionPolicy"


def _validate_budget(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        yield invalid("spec", _format_go_spec(spec), text)
    for member, amount in (("minAvailable", least), ("maxUnavailable", most)):
        if amount is not None:
            yield from validators.validate_percent_or_number(f"spec.{member}", amount)
            yield from validators.validate_percent_limit(f"spec.{member}", amount)
    yield from validators.validate_label_selector("spec.selector", spec.get("selector"))
    policies = ("AlwaysAllow", "IfHealthyBudget")
    yield from validators.validate_enum(f"spec.{_POLICY}", spec.get(_POLICY), policies)


def _format_go_spec(spec: Object) -> Bare:
    """Format a spec as Go prints it; in older releases with the addresses of pointers."""
    if prints_json():
        return format_go_struct("policy/v1.PodDisruptionBudgetSpec", spec)
    members = (
        ("MinAvailable", "*intstr.IntOrString", "minAvailable"),
        ("Selector", "*v1.LabelSelector", "selector"),
        ("MaxUnavailable", "*intstr.IntOrString", "maxUnavailable"),
        ("UnhealthyPodEvictionPolicy", "*policy.UnhealthyPodEvictionPolicyType", _POLICY),
    )
    shown = (
        f"{go}:({kind})({'nil' if spec.get(name) is None else validators.GO_POINTER})"
        for go, kind, name in members
    )
    return Bare(f"policy.PodDisruptionBudgetSpec{{{', '.join(shown)}}}")


def _validate_status(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    status = get_mapping(value, "status")
    yield from validate_conditions(get_items(status, "conditions"), "status.conditions")
    for member in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        yield from validators.validate_non_negative(f"status.{member}", status.get(member))


def _build_budget_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return (
        value["metadata"].get("name", ""),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        get_field(value, "status", "disruptionsAllowed") or 0,
        format_creation_age(value, now),
    )


POD_DISRUPTION_BUDGET = Rules(
    validate=_validate_budget,
    validate_status=_validate_status,
    name="path",
    generation_fields=("spec",),
    allows_unconditional_update=False,
    columns=(
        NAME,
        build_column("Min Available"),
        build_column("Max Unavailable"),
        build_column("Allowed Disruptions", "integer"),
        AGE,
    ),
    cells=_build_budget_cells,
    status_updates_labels=True,
)
