"""The interface between verbs and kinds.

A `Resource` describes what is served under one path. Its `Strategy` has the rules of the kind; the
verb handlers call its methods in a fixed order, the same for every kind:

    create:  normalize -> default -> prepare_create -> (object metadata filled) -> validate_create
    update:  normalize -> default -> prepare_update -> generation -> validate_update
    read:    `to_served` on what is stored, unless `stored_as_served`

Strategies are synchronous and pure: they get dicts, change only those that are documented to be
changed, and do not use requests or storage. Time, randomness and the user are in the `Context`.
"""

import functools
import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import msgspec

from quarterdeck.meta import builtins
from quarterdeck.meta.field import FieldError
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.meta.schema import Node
from quarterdeck.server.registry.conversion import Converter
from quarterdeck.server.registry.encoded_cache import EncodedCache

Object = dict[str, Any]
"""A decoded JSON object."""

STATUS = "status"
SCALE = "scale"

ALL_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
"""The verbs of an ordinary resource, in the order discovery lists them."""


class ValidationTooExpensive(Exception):
    """Raised by a quick validation if the rules may take too long for the event loop."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a write: time, caller and endpoint."""

    now: datetime
    random: random.Random
    user: str = ""
    namespace: str = ""
    """The namespace of the request; empty for cluster-scoped resources."""
    subresource: str = ""
    """The subresource of the request, such as `status`; empty for the object itself."""
    metadata_errors: tuple[FieldError, ...] = ()
    """Errors in the object's metadata, set for the `validate_…` methods only. Custom kinds skip
    their CEL rules then, with an error about it. The methods do not return these errors again."""
    is_quick: bool = False
    """Whether the `validate_…` methods raise `ValidationTooExpensive` instead of taking long."""


class NormalizedObject(msgspec.Struct, frozen=True):
    """A body in the shape of its kind."""

    value: Object
    unknown: tuple[str, ...] = ()
    """Paths of dropped fields, as strict decoding prints them: `spec.foo`, `spec.items[0].bar`."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a Table."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Scale(NamedTuple):
    """The replica numbers of an object, as `autoscaling/v1 Scale` shows them."""

    spec_replicas: int
    status_replicas: int
    selector: str


class Strategy(Protocol):
    """The rules of one kind at one version."""

    # policies ------------------------------------------------------------------------------------

    @property
    def has_generation(self) -> bool:
        """Whether new objects get `metadata.generation: 1`."""

    @property
    def allow_unconditional_update(self) -> bool:
        """Whether PUT may leave out the resourceVersion."""

    @property
    def allow_create_on_update(self) -> bool:
        """Whether PUT creates an object that does not exist."""

    @property
    def needs_type_meta(self) -> bool:
        """Whether a body without `kind` and `apiVersion` is refused (custom resources)."""

    @property
    def stored_as_served(self) -> bool:
        """Whether stored bytes are sent to clients unchanged, without `to_served`.

        False while stored objects may be of another version, or lack a new default.
        """

    # shape ---------------------------------------------------------------------------------------

    def normalize(self, value: Object) -> NormalizedObject:
        """Drop unknown fields and return their paths; `value` may be changed.

        Raises:
            ApiError: 400 for a value of a wrong type in a built-in kind. Custom kinds report
                types in `validate_create` and `validate_update` instead.
        """

    def default(self, value: Object) -> None:
        """Fill in defaults, in place."""

    def default_applied(self, value: Object) -> None:
        """Fill in defaults of a server-side applied object, in place; its nulls are kept."""

    def to_stored(self, value: Object) -> Object:
        """Convert an object to its stored version; returns `value` itself if it is the same."""

    def to_served(self, value: Object) -> Object:
        """Convert a stored object to the version of this resource, and default it."""

    # writes --------------------------------------------------------------------------------------

    def prepare_create(self, value: Object, context: Context) -> None:
        """Drop what a client may not set (status), and fill in what the kind derives. In place."""

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Restore what this endpoint may not change: the status, or all else on `/status`.

        Immutable metadata is already restored. In place; `old` is only read.
        """

    def validate_create(self, value: Object, context: Context) -> Sequence[FieldError]:
        """Find what is wrong with a new object; object metadata was checked already."""

    def validate_update(self, value: Object, old: Object, context: Context) -> Sequence[FieldError]:
        """Find what is wrong with a change; object metadata was checked already."""

    def bumps_generation(self, value: Object, old: Object, context: Context) -> bool:
        """Whether this change increases `metadata.generation` (called for every endpoint)."""

    def find_warnings(self, value: Object, old: Object | None, context: Context) -> Sequence[str]:
        """Return the texts for `Warning` headers of an accepted write."""

    def validate_name(self, name: str, *, is_prefix: bool) -> Sequence[str]:
        """Find what is wrong with a name (or with a `generateName`); empty for a good one."""

    def reset_fields(self, subresource: str) -> Sequence[tuple[str, ...]]:
        """Return paths that writers of this endpoint never own, such as `(("status",),)`."""

    # deletion ------------------------------------------------------------------------------------

    def compute_grace_period(self, value: Object, requested: int | None) -> int:
        """Return the grace period of a deletion in seconds; 0 for nearly every kind."""

    def begin_delete(self, value: Object, context: Context) -> bool:
        """Adjust an object that is being deleted, in place; True if the kind itself keeps it.

        Namespaces become Terminating, CustomResourceDefinitions get their finalizer.
        Finalizers in the metadata keep an object even if this returns False.
        """

    def is_kept(self, value: Object) -> bool:
        """Whether the kind itself keeps a deleted object, as `spec.finalizers` of Namespaces do.

        Finalizers in the metadata are checked elsewhere.
        """

    # reads ---------------------------------------------------------------------------------------

    @property
    def selectable(self) -> frozenset[str]:
        """Fields a selector may name besides `metadata.name` and `metadata.namespace`."""

    def get_field_values(self, value: Object) -> Mapping[str, str]:
        """Return the values of `selectable` in one object; an absent field is the empty string."""

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of a Table, NAME included."""

    def build_cells(self, value: Object, now: datetime) -> Sequence[object]:
        """Build one row, in the order of `columns`."""

    # scale ---------------------------------------------------------------------------------------

    def read_scale(self, value: Object) -> Scale | None:
        """Read the scale of an object; None if the kind has no scale.

        Raises:
            ApiError: 500 if the replicas field is absent, as in Kubernetes.
        """

    def write_scale(self, value: Object, replicas: int) -> None:
        """Set the replica number, in place."""


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """A path below an object."""

    name: str
    verbs: tuple[str, ...]
    gvk: GVK
    """The kind of the body: that of the resource for `status`, Scale for `scale`."""


class Resource(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """What is served under one group, version and plural name."""

    gvr: GVR
    kind: str
    list_kind: str
    singular: str
    namespaced: bool
    strategy: Strategy
    schema: Node | None = None
    """The schema of a custom kind; those of built-in kinds are built from the table, see `node`."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: Mapping[str, Subresource] = {}
    storage: str = ""
    """The resource name in storage; the group resource unless two groups share the objects."""
    is_custom: bool = False
    """Custom resources: items of lists carry `kind` and `apiVersion`, no strategic merge."""
    is_completed: bool = False
    """Whether the server follows a write with one of its own, which the response waits for."""
    storage_version_hash: str = ""
    converter: Converter | None = None
    """The conversion webhook of a custom kind; None if it has none."""
    stored_api_version: str = ""
    """The version that objects of a custom kind are stored in."""
    definition_revision: int = 0
    """The revision of the last change to the rules of a custom kind; 0 if before the server start.
    Watches end when it changes, and cannot start from an older revision: clients list again."""
    is_terminating: bool = False
    """Whether the definition of a custom kind is being deleted: no object can be created."""
    deprecation: str = ""
    """A text for the `Warning` header of every answer; empty for none."""
    served: EncodedCache = msgspec.field(default_factory=EncodedCache)
    """Caches objects that were converted to this version."""
    messages: EncodedCache = msgspec.field(default_factory=EncodedCache)
    """Caches objects of this version as protobuf messages."""

    @property
    def node(self) -> Node:
        """The schema of its objects."""
        node = self.schema or builtins.find_node(self.gvk)
        assert node is not None  # the table has every built-in kind that is served
        return node

    @functools.cached_property
    def gvk(self) -> GVK:
        """Group, version and kind."""
        return GVK(self.gvr.group, self.gvr.version, self.kind)

    @property
    def error_group(self) -> str:
        """The group that validation errors name: events are core objects in both their groups."""
        return "" if self.gvr.group == "events.k8s.io" else self.gvr.group

    @functools.cached_property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return self.gvr.api_version

    @functools.cached_property
    def group_resource(self) -> str:
        """Its plural name with its group, as errors name it."""
        return self.gvr.group_resource

    @functools.cached_property
    def stored_name(self) -> str:
        """The name of the resource in storage."""
        return self.storage or self.group_resource
