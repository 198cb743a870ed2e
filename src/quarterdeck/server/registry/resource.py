"""The face between the verbs and the kinds.

A `Resource` says what is served under one path. Its `Strategy` holds the rules of the kind; the
verb handlers call them in a fixed order, the same for every kind:

    create:  normalise -> default -> prepare_create -> (object metadata filled) -> validate_create
    update:  normalise -> default -> prepare_update -> generation -> validate_update
    read:    `served` on what is stored, unless `stored_as_served`

Strategies are synchronous and pure: they get dicts, may change the one they are told they may
change, and know nothing of requests or storage. Everything they may not compute themselves (time,
randomness, who asks) is in the `Context`.
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


class ValidationTakesLong(Exception):
    """Raised by a validation that must be quick: the rules may cost too much for the event loop."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a write: time, caller and endpoint."""

    now: datetime
    random: random.Random
    user: str = ""
    namespace: str = ""
    """Of the request; empty for cluster-scoped resources."""
    subresource: str = ""
    """`status`, `scale` or empty: rules differ by it."""
    metadata_errors: tuple[FieldError, ...] = ()
    """Errors in the object's metadata, set for the `validate_…` methods only: some kinds
    skip their costly checks then, and say so. They do not repeat these."""
    is_quick: bool = False
    """Whether the `validate_…` methods raise `ValidationTakesLong` instead of taking long."""


class NormalizedObject(NamedTuple):
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
        """Whether PUT on an absent name creates."""

    @property
    def needs_type_meta(self) -> bool:
        """Whether a body without `kind` and `apiVersion` is refused (custom resources)."""

    @property
    def stored_as_served(self) -> bool:
        """Whether stored bytes go to clients as they are, without `served`.

        False while stored objects may be of another version, or lack a new default.
        """

    # shape ---------------------------------------------------------------------------------------

    def normalise(self, value: Object) -> NormalizedObject:
        """Drop what the kind does not know and say what it was; `value` may be changed.

        Raises:
            ApiError: 400 for a value of a wrong type in a built-in kind. Custom kinds report
                types in `validate_create` and `validate_update` instead.
        """

    def default(self, value: Object) -> None:
        """Fill in defaults, in place."""

    def default_applied(self, value: Object) -> None:
        """Fill in defaults of a server-side applied object, in place; its nulls are kept."""

    def to_stored(self, value: Object) -> Object:
        """The object in the version it is stored in; `value` itself where they are the same."""

    def to_served(self, value: Object) -> Object:
        """The object in the version of this resource, from what is stored (defaults included)."""

    # writes --------------------------------------------------------------------------------------

    def prepare_create(self, value: Object, context: Context) -> None:
        """Reset what a creator may not set (status), fill in what the kind derives. In place."""

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Keep what this endpoint may not change: status on the main one, the rest on `/status`.

        Immutable metadata is already restored. In place; `old` is only read.
        """

    def validate_create(self, value: Object, context: Context) -> Sequence[FieldError]:
        """Find what is wrong with a new object; object metadata was checked already."""

    def validate_update(self, value: Object, old: Object, context: Context) -> Sequence[FieldError]:
        """Find what is wrong with a change; object metadata was checked already."""

    def bumps_generation(self, value: Object, old: Object, context: Context) -> bool:
        """Whether this change raises `metadata.generation` (asked on every endpoint)."""

    def find_warnings(self, value: Object, old: Object | None, context: Context) -> Sequence[str]:
        """Texts for `Warning` headers of an accepted write."""

    def validate_name(self, name: str, *, is_prefix: bool) -> Sequence[str]:
        """Find what is wrong with a name (or with a `generateName`); empty for a good one."""

    def reset_fields(self, subresource: str) -> Sequence[tuple[str, ...]]:
        """Paths that writers of this endpoint never own in managedFields: `(("status",),)`."""

    # deletion ------------------------------------------------------------------------------------

    def compute_grace_period(self, value: Object, requested: int | None) -> int:
        """Seconds between the request to delete and the end; 0 for nearly every kind."""

    def begin_delete(self, value: Object, context: Context) -> bool:
        """Adjust an object whose deletion begins, in place; true if the kind itself keeps it.

        Namespaces become Terminating, CustomResourceDefinitions get their finalizer.
        Finalizers in the metadata keep an object whatever this says.
        """

    def is_kept(self, value: Object) -> bool:
        """Whether the kind itself still keeps an object that is being deleted (a Namespace with
        `spec.finalizers`); finalizers in the metadata are not asked about here.
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
        """Read the scale of an object; none where the kind has none.

        Raises:
            ApiError: 500 as Kubernetes does, where the field that should hold it is absent.
        """

    def write_scale(self, value: Object, replicas: int) -> None:
        """Set the replica number, in place."""


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """A path below an object."""

    name: str
    verbs: tuple[str, ...]
    gvk: GVK
    """Of the body: the resource's own for `status`, `autoscaling/v1, Scale` for `scale`."""


class Resource(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """What is served under one group, version and plural name."""

    gvr: GVR
    kind: str
    list_kind: str
    singular: str
    namespaced: bool
    strategy: Strategy
    schema: Node | None = None
    """Of a custom kind; those of built-in kinds are in their table and built when asked for."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: Mapping[str, Subresource] = {}
    storage: str = ""
    """The resource name in storage; the group resource unless two groups share the objects."""
    is_custom: bool = False
    """Custom resources: items of lists carry `kind` and `apiVersion`, no strategic merge."""
    is_completed: bool = False
    """Whether the server completes a write by another one of its own, which answers wait for."""
    storage_version_hash: str = ""
    converter: Converter | None = None
    """How a webhook converts between the versions of a custom kind; none for nearly all."""
    stored_api_version: str = ""
    """Of a custom kind: the version it is stored in."""
    definition_revision: int = 0
    """Of a custom kind: the revision that gave it its rules, 0 for those of the server's start.
    Watches end where it changes, and cannot begin before it: whoever watches lists again."""
    is_terminating: bool = False
    """Whether the definition of a custom kind is being deleted: no object can be created."""
    deprecation: str = ""
    """A text for the `Warning` header of every answer; empty for none."""
    served: EncodedCache = msgspec.field(default_factory=EncodedCache)
    """Objects in this version, where they are not stored so."""
    messages: EncodedCache = msgspec.field(default_factory=EncodedCache)
    """Objects of this version as protobuf messages."""

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
        """What the resource is called in storage."""
        return self.storage or self.group_resource
