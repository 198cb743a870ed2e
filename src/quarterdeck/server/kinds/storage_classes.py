"""Storage classes."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, forbidden, invalid, required, too_long
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_MOST_PARAMETERS = 512
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _default_class(value: Object) -> None:
    set_defaults(value, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _validate_class(value: Object, context: Context) -> Iterator[FieldError]:
    yield from _validate_provisioner(value, "provisioner")
    yield from _validate_topologies(get_items(value, "allowedTopologies"))
    yield from validators.validate_enum(
        "reclaimPolicy", value.get("reclaimPolicy"), ("Delete", "Retain")
    )
    binding = ("Immediate", "WaitForFirstConsumer")
    yield from validators.validate_required_enum(
        "volumeBindingMode", value.get("volumeBindingMode"), binding
    )


def _validate_provisioner(value: Object, member: str) -> Iterator[FieldError]:
    provisioner = value.get(member) or ""
    if not provisioner:
        yield required(member)
    else:
        name = provisioner.lower()
        for problem in names.check_qualified_name(name):
            yield invalid(member, name, problem)
    parameters = get_mapping(value, "parameters")
    if len(parameters) > _MOST_PARAMETERS:
        yield too_long("parameters", "", _MOST_PARAMETERS)
        return
    if "" in parameters:
        yield invalid("parameters", "", "field can not be empty.")


def _validate_topologies(terms: Sequence[Object]) -> Iterator[FieldError]:
    """Check the allowed topologies; no two terms may be equal."""
    seen: list[dict[str, frozenset[str]]] = []
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        found: dict[str, frozenset[str]] = {}
        for at, requirement in enumerate(get_items(term, "matchLabelExpressions")):
            key = requirement.get("key") or ""
            yield from _validate_requirement(requirement, f"{path}[{at}]")
            if key in found:
                yield duplicate(f"{path}[{at}].key", key)
            found[key] = frozenset(get_items(requirement, "values"))
        # Kubernetes also compares with as many terms that say nothing as there are terms
        same = seen.count(found) + (0 if found else len(terms))
        yield from [duplicate(path, "")] * same
        seen.append(found)


def _validate_requirement(requirement: Object, path: str) -> Iterator[FieldError]:
    key, values = requirement.get("key") or "", get_items(requirement, "values")
    if not values:
        yield required(f"{path}.values")
    for index, value in enumerate(values):
        if value in values[:index]:
            yield duplicate(f"{path}.values[{index}]", value)
    for problem in names.check_qualified_name(key):
        yield invalid(f"{path}.key", key, problem)


def _validate_class_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    if has_feature("ClassesAreImmutable"):
        for member in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
            yield from validators.validate_immutable(member, value.get(member), old.get(member))
        return
    if get_mapping(value, "parameters") != get_mapping(old, "parameters"):
        yield forbidden("parameters", "updates to parameters are forbidden.")
    if value.get("provisioner") != old.get("provisioner"):
        yield forbidden("provisioner", "updates to provisioner are forbidden.")
    if value.get("reclaimPolicy") != old.get("reclaimPolicy"):
        yield forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden.")
    if value.get("volumeBindingMode") != old.get("volumeBindingMode"):
        yield invalid("volumeBindingMode", value.get("volumeBindingMode"), validators.IMMUTABLE)


def _build_class_cells(value: Object, now: datetime) -> Sequence[object]:
    name = value["metadata"].get("name", "")
    if get_mapping(value, "metadata", "annotations").get(_DEFAULT_CLASS) == "true":
        name += " (default)"
    return (
        name,
        value.get("provisioner") or "",
        value.get("reclaimPolicy") or "Delete",
        value.get("volumeBindingMode") or "Immediate",
        bool(value.get("allowVolumeExpansion")),
        format_creation_age(value, now),
    )


STORAGE_CLASS = Rules(
    default=_default_class,
    validate=_validate_class,
    validate_change=_validate_class_update,
    columns=(
        NAME,
        build_column("Provisioner"),
        build_column("ReclaimPolicy"),
        build_column("VolumeBindingMode"),
        build_column("AllowVolumeExpansion"),
        AGE,
    ),
    cells=_build_class_cells,
)


# classes of volume attributes --------------------------------------------------------------------


def _validate_attributes(value: Object, context: Context) -> Iterator[FieldError]:
    yield from _validate_provisioner(value, "driverName")
    if not value.get("parameters"):
        yield required("parameters", "must contain at least one key/value pair")


def _validate_attributes_change(
    value: Object, old: Object, context: Context
) -> Iterator[FieldError]:
    if value.get("driverName") != old.get("driverName"):
        yield forbidden("driverName", "updates to driverName are forbidden.")
    if get_mapping(value, "parameters") != get_mapping(old, "parameters"):
        yield forbidden("parameters", "updates to parameters are forbidden.")
    yield from _validate_attributes(value, context)


def _build_attributes_cells(value: Object, now: datetime) -> Sequence[object]:
    return (
        value["metadata"].get("name", ""),
        value.get("driverName") or "",
        format_creation_age(value, now),
    )


VOLUME_ATTRIBUTES_CLASS = Rules(
    validate_new=_validate_attributes,
    validate_change=_validate_attributes_change,
    columns=(NAME, build_column("DriverName"), AGE),
    cells=_build_attributes_cells,
)
