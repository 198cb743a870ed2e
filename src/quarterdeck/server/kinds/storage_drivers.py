"""CSI drivers, nodes and capacities, and attachments: what kubectl shows of them."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, forbidden, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.network_volume_validation import validate_driver_name
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, NONE, build_column, format_creation_age
from quarterdeck.server.registry.resource import STATUS, Column, Context, Object

_SHORTEST_PERIOD_S = 10
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES = ("Persistent", "Ephemeral")
_SHORTEST_TOKEN_S = 600
_LONGEST_TOKEN_S = 1 << 32
_LONGEST_NODE_ID = 256
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
    spec = get_mapping(value, "spec")
    policy = spec.get("fsGroupPolicy")
    yield from validators.validate_enum("spec.fsGroupPolicy", policy, _GROUP_POLICIES)
    yield from _validate_tokens(get_items(spec, "tokenRequests"), "spec.tokenRequests")
    for mode in get_items(spec, "volumeLifecycleModes"):
        yield from validators.validate_enum("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _SHORTEST_PERIOD_S:
        text = f"must be greater than or equal to {_SHORTEST_PERIOD_S} seconds"
        yield invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, text)
    if spec.get("serviceAccountTokenInSecrets") and not spec.get("tokenRequests"):
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield invalid("spec.serviceAccountTokenInSecrets", value=True, detail=text)


def _validate_tokens(requests: Sequence[Object], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        audience, seconds = request.get("audience") or "", request.get("expirationSeconds")
        if audience in seen:
            yield duplicate(f"{path}[{index}].audience", audience)
            continue
        seen.add(audience)
        place = f"{path}[{index}].expirationSeconds"
        if seconds is not None and seconds < _SHORTEST_TOKEN_S:
            yield invalid(place, seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > _LONGEST_TOKEN_S:
            yield invalid(place, seconds, "may not specify a duration larger than 2^32 seconds")


def _validate_node(value: Object, context: Context) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, driver in enumerate(get_items(value, "spec", "drivers")):
        path, name = f"spec.drivers[{index}]", driver.get("name") or ""
        yield from validate_driver_name(name, f"{path}.name")
        node = driver.get("nodeID") or ""
        if not node:
            yield required(f"{path}.nodeID")
        if len(node) > _LONGEST_NODE_ID:
            text = f"must be {_LONGEST_NODE_ID} characters or less"
            yield invalid(f"{path}.nodeID", node, text)
        count = get_field(driver, "allocatable", "count")
        yield from validators.validate_non_negative(f"{path}.allocatable.count", count)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _validate_keys(get_items(driver, "topologyKeys"), path)


def _validate_keys(keys: Sequence[str], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for key in keys:
        if not key:
            yield required(path)
        if key in seen:
            yield duplicate(path, key)
        seen.add(key)
        for problem in names.check_qualified_name(key):
            yield invalid(path, key, problem)


def _validate_capacity(value: Object, context: Context) -> Iterator[FieldError]:
    topology, name = value.get("nodeTopology"), value.get("storageClassName") or ""
    yield from validators.validate_label_selector("nodeTopology", topology)
    for problem in names.check_dns1123_subdomain(name):
        yield invalid("storageClassName", name, problem)
    if (amount := value.get("capacity")) is not None:
        yield from validators.validate_quantity("capacity", amount)


def _validate_attachment(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    attacher, node = spec.get("attacher") or "", spec.get("nodeName") or ""
    yield from validate_driver_name(attacher, "spec.attacher")
    if not attacher:
        yield required("spec.attacher")  # which Kubernetes checks twice
    source = get_mapping(spec, "source")
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if name is None and inline is None:
        yield required("spec.source", text)
    elif name is not None and inline is not None:
        yield forbidden("spec.source", text)
    elif name is not None:
        path = "spec.source.persistentVolumeName"
        if not name:
            yield required(path, "must specify non empty persistentVolumeName")
        yield from (invalid(path, name, each) for each in names.check_dns1123_subdomain(name))
    for problem in names.check_dns1123_subdomain(node):
        yield invalid("spec.nodeName", node, problem)


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
    validate=_validate_node,
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
    validate=_validate_capacity,
    allows_unconditional_update=False,
    columns=(NAME, build_column("StorageClassName"), build_column("Capacity")),
    cells=_build_capacity_cells,
)
VOLUME_ATTACHMENT = Rules(
    validate=_validate_attachment,
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
