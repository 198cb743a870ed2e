"""Storage classes."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, forbidden, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _default_class(value: Object) -> None:
    set_defaults(value, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _validate_class(value: Object, context: Context) -> Iterator[FieldError]:
    provisioner = value.get("provisioner") or ""
    if not provisioner:
        yield required("provisioner")
    else:
        name = provisioner.lower()
        for problem in names.check_qualified_name(name):
            yield invalid("provisioner", name, problem)
    if "" in get_mapping(value, "parameters"):
        yield invalid("parameters", "", "field can not be empty.")
    yield from _validate_topologies(get_items(value, "allowedTopologies"))
    yield from validators.validate_enum(
        "reclaimPolicy", value.get("reclaimPolicy"), ("Delete", "Retain")
    )
    binding = ("Immediate", "WaitForFirstConsumer")
    yield from validators.validate_required_enum(
        "volumeBindingMode", value.get("volumeBindingMode"), binding
    )


def _validate_topologies(terms: Sequence[Object]) -> Iterator[FieldError]:
    """Check where volumes may be; no two terms may say the same."""
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
