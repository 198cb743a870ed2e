"""CSI drivers, nodes and capacities, and attachments: what kubectl shows of them."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    NONE,
    build_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import STATUS, Column, Context, Object

_SHORTEST_PERIOD_S = 10
_UNSET = "<unset>"


def _default_driver(value: Object) -> None:
    set_defaults(
        value.setdefault("spec", {}),
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    )


def _validate_driver(value: Object, context: Context) -> Iterator[FieldError]:
    """Check what newer releases let drivers say."""
    spec = get_mapping(value, "spec")
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _SHORTEST_PERIOD_S:
        text = f"must be greater than or equal to {_SHORTEST_PERIOD_S} seconds"
        yield invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, text)
    if spec.get("serviceAccountTokenInSecrets") and not spec.get("tokenRequests"):
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield invalid("spec.serviceAccountTokenInSecrets", value=True, detail=text)


def _build_driver_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    tokens = spec.get("tokenRequests")
    audiences = [each.get("audience", "") for each in tokens or ()]
    return (
        value["metadata"].get("name", ""),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        _UNSET if tokens is None else ",".join(audiences),
        spec.get("requiresRepublish", False),
        ",".join(get_items(spec, "volumeLifecycleModes")) or NONE,
        format_creation_age(value, now),
    )


def _build_node_cells(value: Object, now: datetime) -> Sequence[object]:
    drivers = get_items(value, "spec", "drivers")
    return (value["metadata"].get("name", ""), len(drivers), format_creation_age(value, now))


def _build_capacity_cells(value: Object, now: datetime) -> Sequence[object]:
    name, storage_class = value["metadata"].get("name", ""), value.get("storageClassName", "")
    return (name, storage_class, value.get("capacity") or _UNSET)


def _build_attachment_cells(value: Object, now: datetime) -> Sequence[object]:
    return (
        value["metadata"].get("name", ""),
        get_field(value, "spec", "attacher") or "",
        get_field(value, "spec", "source", "persistentVolumeName") or "",
        get_field(value, "spec", "nodeName") or "",
        bool(get_field(value, STATUS, "attached")),
        format_creation_age(value, now),
    )


CSI_DRIVER = Rules(
    default=_default_driver,
    validate=_validate_driver,
    allows_unconditional_update=False,
    columns=(
        NAME,
        build_column("AttachRequired", "boolean"),
        build_column("PodInfoOnMount", "boolean"),
        build_column("StorageCapacity", "boolean"),
        build_column("TokenRequests"),
        build_column("RequiresRepublish", "boolean"),
        build_column("Modes"),
        AGE,
    ),
    cells=_build_driver_cells,
)
CSI_NODE = Rules(
    allows_unconditional_update=False,
    columns=(
        NAME,
        build_column(
            "Drivers",
            "integer",
            text="Drivers indicates the number of CSI drivers registered on the node",
        ),
        AGE,
    ),
    cells=_build_node_cells,
)
CSI_STORAGE_CAPACITY = Rules(
    allows_unconditional_update=False,
    columns=(NAME, build_column("StorageClassName"), build_column("Capacity")),
    cells=_build_capacity_cells,
)
VOLUME_ATTACHMENT = Rules(
    allows_unconditional_update=False,
    columns=(
        NAME,
        Column(name="Attacher", format="name"),
        build_column("PV"),
        build_column("Node"),
        build_column("Attached", "boolean"),
        AGE,
    ),
    cells=_build_attachment_cells,
)
