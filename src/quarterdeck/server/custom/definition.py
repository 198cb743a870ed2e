"""CustomResourceDefinition: its resource and its strategy."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.kit import rfc3339
from quarterdeck.meta import builtins, names
from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.server.custom import accepted_names
from quarterdeck.server.registry.printer import NAME
from quarterdeck.server.registry.resource import (
    STATUS,
    Column,
    Context,
    NormalizedObject,
    Object,
    Resource,
    Scale,
    Subresource,
)
from quarterdeck.wire.status import BadRequest

KIND = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""Keeps a definition until the last of its objects is gone."""

_CREATED_COLUMN = Column(
    name="Created At",
    type="date",
    description=(
        "CreationTimestamp is a timestamp representing the server time when this object was"
        " created. It is not guaranteed to be set in happens-before order across separate"
        " operations. Clients may not set this value. It is represented in RFC3339 form and is in"
        " UTC.\n\nPopulated by the system. Read-only. Null for lists. More info:"
        " https://git.k8s.io/community/contributors/devel/sig-architecture/"
        "api-conventions.md#metadata"
    ),
)


def build_bundle_name(definition_name: str) -> str:
    """Build what the resources of a definition are registered under."""
    return f"crd:{definition_name}"


def build_definition_resources() -> Iterable[Resource]:
    """Build the resource `customresourcedefinitions`."""
    verbs = ("get", "patch", "update")
    yield Resource(
        gvr=GVR(KIND.group, KIND.version, "customresourcedefinitions"),
        kind=KIND.kind,
        list_kind="CustomResourceDefinitionList",
        singular="customresourcedefinition",
        namespaced=False,
        strategy=DefinitionStrategy(),
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources={STATUS: Subresource(name=STATUS, verbs=verbs, gvk=KIND)},
        is_completed=True,
    )


class DefinitionStrategy(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The strategy of CustomResourceDefinitions."""

    # policies ------------------------------------------------------------------------------------

    @property
    def has_generation(self) -> bool:
        """Whether new objects get a generation: always."""
        return True

    @property
    def allow_unconditional_update(self) -> bool:
        """Whether PUT may leave out the resourceVersion: never."""
        return False

    @property
    def allow_create_on_update(self) -> bool:
        """Whether PUT may create an object: never."""
        return False

    @property
    def needs_type_meta(self) -> bool:
        """Whether a body must have kind and apiVersion: no, as for all built-in kinds."""
        return False

    @property
    def stored_as_served(self) -> bool:
        """Whether stored bytes are served unchanged: always, because there is one version."""
        return True

    # shape ---------------------------------------------------------------------------------------

    def normalize(self, value: Object) -> NormalizedObject:
        """Bring a body into the shape of the kind.

        Raises:
            BadRequest: for values of a wrong type.
        """
        unknown = builtins.find_unknown_fields(value, KIND)
        decoded = builtins.decode(value, KIND)
        if decoded.error is not None:
            raise BadRequest(
                f'{KIND.kind} in version "v1" cannot be handled as a {KIND.kind}: {decoded.error}'
            )
        return NormalizedObject(decoded.object, tuple(unknown))

    def default_applied(self, value: Object) -> None:
        """Fill in the same defaults as `default`: they do not depend on the kind of write."""
        self.default(value)

    def default(self, value: Object) -> None:
        """Fill in the names that follow from the kind, the conversion strategy and webhook port."""
        spec = value.setdefault("spec", {})
        given = spec.setdefault("names", {})
        if kind := given.get("kind"):
            if not given.get("singular"):
                given["singular"] = kind.lower()
            if not given.get("listKind"):
                given["listKind"] = f"{kind}List"
        conversion = spec.get("conversion") or {"strategy": "None"}
        service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
        if service and service.get("port") is None:
            service["port"] = 443
        spec["conversion"] = conversion

    def to_stored(self, value: Object) -> Object:
        """Return the object unchanged, because there is one version."""
        return value

    def to_served(self, value: Object) -> Object:
        """Return the object unchanged, because there is one version."""
        return value

    # writes --------------------------------------------------------------------------------------

    def prepare_create(self, value: Object, context: Context) -> None:
        """Start with a fresh status; `establishment` accepts the names."""
        value[STATUS] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": [],
        }
        _add_storage_version(value)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Keep the spec on `/status`; keep the status otherwise, and add the storage version."""
        if context.subresource == STATUS:
            value["spec"] = old["spec"]
            return
        value[STATUS] = msgspec.json.decode(msgspec.json.encode(old.get(STATUS) or {}))
        _add_storage_version(value)

    def validate_create(self, value: Object, context: Context) -> Sequence[FieldError]:
        """Check the spec, and the name against the spec."""
        from quarterdeck.server.custom.definition_rules import validate_definition

        return [*_validate_name(value), *validate_definition(value)]

    def validate_update(self, value: Object, old: Object, context: Context) -> Sequence[FieldError]:
        """Check the spec, and the fields that may not change."""
        if context.subresource == STATUS:
            return []
        from quarterdeck.server.custom.definition_rules import validate_definition_update

        return validate_definition_update(value, old)

    def bumps_generation(self, value: Object, old: Object, context: Context) -> bool:
        """Whether the spec changed."""
        return bool(value.get("spec") != old.get("spec"))

    def find_warnings(self, value: Object, old: Object | None, context: Context) -> Sequence[str]:
        """Return no warnings."""
        return ()

    def validate_name(self, name: str, *, is_prefix: bool) -> Sequence[str]:
        """Check that the name is a DNS subdomain; it is compared with the spec separately."""
        return names.check_object_name("subdomain", name, is_prefix=is_prefix)

    def reset_fields(self, subresource: str) -> Sequence[tuple[str, ...]]:
        """Return the paths that a writer never owns: the status, or all else on `/status`."""
        return (("metadata",), ("spec",)) if subresource == STATUS else ((STATUS,),)

    # deletion ------------------------------------------------------------------------------------

    def compute_grace_period(self, value: Object, requested: int | None) -> int:
        """Return 0: the finalizer keeps a definition, not a grace period."""
        return 0

    def begin_delete(self, value: Object, context: Context) -> bool:
        """Add a finalizer, so that the objects are deleted first, and a condition about it."""
        finalizers = value["metadata"].setdefault("finalizers", [])
        if CLEANUP_FINALIZER not in finalizers:
            finalizers.append(CLEANUP_FINALIZER)
        status = value.setdefault(STATUS, {})
        conditions = status.get("conditions") or []
        text = (
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        )
        wanted = ("Terminating", True, "InstanceDeletionPending", text)
        accepted_names.set_condition(conditions, wanted, context.now)
        status["conditions"] = conditions
        return True

    def is_kept(self, value: Object) -> bool:
        """Return False: only finalizers keep a definition."""
        return False

    # reads ---------------------------------------------------------------------------------------

    @property
    def selectable(self) -> frozenset[str]:
        """No fields besides name and namespace can be selected."""
        return frozenset()

    def get_field_values(self, value: Object) -> Mapping[str, str]:
        """Return no values, because `selectable` is empty."""
        return {}

    @property
    def columns(self) -> Sequence[Column]:
        """Name and time of creation."""
        return (NAME, _CREATED_COLUMN)

    def build_cells(self, value: Object, now: datetime) -> Sequence[object]:
        """Build the row: the name, and the creation time in full."""
        metadata: Mapping[str, Any] = value.get("metadata") or {}
        stamp = metadata.get("creationTimestamp")
        shown = rfc3339.format_time(rfc3339.parse(stamp)) if stamp else "<unknown>"
        return (metadata.get("name", ""), shown)

    # scale ---------------------------------------------------------------------------------------

    def read_scale(self, value: Object) -> Scale | None:
        """Return None: definitions have no scale."""
        return None

    def write_scale(self, value: Object, replicas: int) -> None:
        """Do nothing: definitions have no scale."""


def _add_storage_version(definition: Object) -> None:
    stored = definition[STATUS].setdefault("storedVersions", [])
    for version in (definition.get("spec") or {}).get("versions") or ():
        if version.get("storage"):
            if version.get("name") not in stored:
                stored.append(version.get("name"))
            return


def _validate_name(definition: Object) -> list[FieldError]:
    name = (definition.get("metadata") or {}).get("name") or ""
    spec = definition.get("spec") or {}
    plural = (spec.get("names") or {}).get("plural") or ""
    if name == f"{plural}.{spec.get('group') or ''}":
        return []
    return [invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]
