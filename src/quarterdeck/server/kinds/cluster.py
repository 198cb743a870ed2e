"""Namespaces, leases and priority classes."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, forbidden, invalid
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.metadata_validation import KNOWN_FINALIZERS
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import STATUS, Context, Object

# namespaces --------------------------------------------------------------------------------------

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


def _default_namespace(value: Object) -> None:
    if name := value["metadata"].get("name"):
        labels = value["metadata"].setdefault("labels", {})
        labels[NAME_LABEL] = name
    if not get_mapping(value, STATUS).get("phase"):
        value[STATUS] = {**get_mapping(value, STATUS), "phase": "Active"}


def _prepare_namespace(value: Object, context: Context) -> None:
    value[STATUS] = {"phase": "Active"}
    spec = value.setdefault("spec", {})
    finalizers = spec.setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)


def _update_namespace(value: Object, old: Object, context: Context) -> None:
    if context.subresource != "finalize":
        value["spec"] = {**get_mapping(value, "spec")}
        if "finalizers" in get_mapping(old, "spec"):
            value["spec"]["finalizers"] = old["spec"]["finalizers"]


def _end_namespace(value: Object, context: Context) -> bool:
    value[STATUS] = {**get_mapping(value, STATUS), "phase": "Terminating"}
    return bool(get_items(value, "spec", "finalizers"))


def _build_namespace_cells(value: Object, now: datetime) -> Sequence[object]:
    phase = get_field(value, STATUS, "phase") or ""
    return (value["metadata"].get("name", ""), phase, format_creation_age(value, now))


def _validate_namespace(value: Object, context: Context) -> Iterator[FieldError]:
    for finalizer in get_items(value, "spec", "finalizers"):
        yield from _validate_finalizer(finalizer, "spec.finalizers")


def _validate_namespace_update(
    value: Object, old: Object, context: Context
) -> Iterator[FieldError]:
    if context.subresource == "finalize":
        for index, finalizer in enumerate(get_items(value, "spec", "finalizers")):
            yield from _validate_finalizer(finalizer, f"spec.finalizers[{index}]")


def _validate_finalizer(finalizer: str, path: str) -> Iterator[FieldError]:
    for problem in names.check_qualified_name(finalizer):
        yield invalid(path, finalizer, problem)
    if "/" not in finalizer and finalizer not in KNOWN_FINALIZERS:
        text = "name is neither a standard finalizer name nor is it fully qualified"
        yield invalid(path, finalizer, text)


def _validate_namespace_status(
    value: Object, old: Object, context: Context
) -> Iterator[FieldError]:
    phase = get_mapping(value, STATUS).get("phase") or ""
    is_deleted = bool(value["metadata"].get("deletionTimestamp"))
    expected, state = ("Terminating", "not empty") if is_deleted else ("Active", "empty")
    if phase != expected:
        text = f"may only be '{expected}' if `deletionTimestamp` is {state}"
        yield invalid("status.Phase", phase, text)


NAMESPACE = Rules(
    validate_status=_validate_namespace_status,
    validate_new=_validate_namespace,
    validate_change=_validate_namespace_update,
    default=_default_namespace,
    prepare_create=_prepare_namespace,
    prepare_update=_update_namespace,
    name="label",
    status_updates_labels=True,
    selectable={"status.phase": ""},
    columns=(NAME, build_column("Status", text="The status of the namespace"), AGE),
    cells=_build_namespace_cells,
    begin_delete=_end_namespace,
    is_kept=lambda value: bool(get_items(value, "spec", "finalizers")),
)


# leases, priorities ------------------------------------------------------------------------------


def _validate_lease(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, validators.NON_NEGATIVE)


def _build_lease_cells(value: Object, now: datetime) -> Sequence[object]:
    holder = get_field(value, "spec", "holderIdentity") or ""
    return (value["metadata"].get("name", ""), holder, format_creation_age(value, now))


def _drop_strategy(value: Object, *_: object) -> None:
    """Drop the fields of CoordinatedLeaderElection, which is off."""
    for member in ("strategy", "preferredHolder"):
        get_mapping(value, "spec").pop(member, None)


LEASE = Rules(
    prepare_create=_drop_strategy,
    prepare_update=_drop_strategy,
    validate=_validate_lease,
    allows_unconditional_update=False,
    allows_create_on_update=True,
    columns=(NAME, build_column("Holder"), AGE),
    cells=_build_lease_cells,
)

_HIGHEST_PRIORITY = 1_000_000_000


def _default_priority(value: Object) -> None:
    set_defaults(value, preemptionPolicy="PreemptLowerPriority")


def _validate_priority(value: Object, context: Context) -> Iterator[FieldError]:
    name, number = value["metadata"].get("name") or "", value.get("value") or 0
    if name.startswith("system-") and name not in (
        "system-cluster-critical",
        "system-node-critical",
    ):
        text = (
            "priority class names with 'system-' prefix are reserved for system use only. error:"
            f" {name} is not a known system priority class"
        )
        yield forbidden("metadata.name", text)
    elif not name.startswith("system-") and number > _HIGHEST_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        yield forbidden("value", text)
    policies = ("PreemptLowerPriority", "Never")
    yield from validators.validate_enum("preemptionPolicy", value.get("preemptionPolicy"), policies)


def _validate_priority_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    if value.get("value") != old.get("value"):
        yield forbidden("value", "may not be changed in an update.")
    yield from validators.validate_immutable(
        "preemptionPolicy", value.get("preemptionPolicy"), old.get("preemptionPolicy")
    )


def _build_priority_cells(value: Object, now: datetime) -> Sequence[object]:
    return (
        value["metadata"].get("name", ""),
        value.get("value") or 0,
        bool(value.get("globalDefault")),
        format_creation_age(value, now),
        value.get("preemptionPolicy") or "",
    )


PRIORITY_CLASS = Rules(
    default=_default_priority,
    validate_new=_validate_priority,
    validate_change=_validate_priority_update,
    keeps_generation=True,
    columns=(
        NAME,
        build_column("Value", "integer"),
        build_column("Global-Default", "boolean"),
        AGE,
        build_column("PreemptionPolicy"),
    ),
    cells=_build_priority_cells,
)
