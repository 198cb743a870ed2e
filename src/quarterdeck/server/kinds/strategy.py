"""The strategy of built-in kinds: follows the rules that a kind's module gives as data."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module

from quarterdeck.meta import builtins, names
from quarterdeck.meta.field import FieldError
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.release import has_feature
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.resource import (
    STATUS,
    Column,
    Context,
    NormalizedObject,
    Object,
    Scale,
)
from quarterdeck.wire.status import BadRequest

APPROVAL = "approval"
"""The subresource that approves certificate requests; it writes conditions of the status."""


class BuiltinStrategy:
    """The strategy of one built-in kind; its rules are loaded on first use."""

    __slots__ = ("_home", "_rules", "gvk", "has_status")

    def __init__(self, gvk: GVK, home: str = "rules.DEFAULT_RULES", *, has_status: bool) -> None:
        self.gvk = gvk
        self.has_status = has_status
        self._home = home
        self._rules: Rules | None = None

    @property
    def rules(self) -> Rules:
        """The rules of the kind."""
        if self._rules is None:
            module, _, name = self._home.partition(".")
            found = getattr(import_module(f"quarterdeck.server.kinds.{module}"), name)
            assert isinstance(found, Rules)  # a test loads all rules that the catalog names
            self._rules = found
        return self._rules

    # policies ------------------------------------------------------------------------------------

    @property
    def has_generation(self) -> bool:
        """Whether objects of the kind have a generation."""
        feature = self.rules.generation_feature
        if feature and not has_feature(feature):
            return False
        return bool(self.rules.generation_fields) or self.rules.keeps_generation

    @property
    def allow_unconditional_update(self) -> bool:
        """Whether PUT may leave out the resourceVersion, as for most built-in kinds."""
        return self.rules.allows_unconditional_update

    @property
    def allow_create_on_update(self) -> bool:
        """Whether PUT may create an object, as for a few kinds."""
        return self.rules.allows_create_on_update

    @property
    def needs_type_meta(self) -> bool:
        """Always False: the endpoint implies the kind."""
        return False

    @property
    def stored_as_served(self) -> bool:
        """Whether stored bytes are served unchanged: unless the kind has a conversion."""
        return not self.rules.converts

    # shape ---------------------------------------------------------------------------------------

    def normalize(self, value: Object) -> NormalizedObject:
        """Decode a body by the Go type of the kind.

        Raises:
            BadRequest: for a value of a wrong type, with the message of Go.
        """
        decoded = builtins.decode(value, self.gvk)
        if decoded.error is not None:
            kind, version = self.gvk.kind, self.gvk.version
            raise BadRequest(
                f'{kind} in version "{version}" cannot be handled as a {kind}: {decoded.error}'
            )
        return NormalizedObject(
            decoded.object, tuple(builtins.find_unknown_fields(value, self.gvk))
        )

    def default(self, value: Object) -> None:
        """Fill in the kind's defaults."""
        self.rules.default(value)

    def default_applied(self, value: Object) -> None:
        """Fill in the kind's defaults; built-in kinds have no nulls."""
        self.rules.default(value)

    def to_stored(self, value: Object) -> Object:
        """Convert an object to its stored form."""
        return self.rules.to_stored(value)

    def to_served(self, value: Object) -> Object:
        """Convert a stored object to the form of this resource."""
        return self.rules.to_served(value)

    # writes --------------------------------------------------------------------------------------

    def prepare_create(self, value: Object, context: Context) -> None:
        """Reset the status, then call the rules of the kind."""
        if self.has_status and not self.rules.keeps_status_on_create:
            value[STATUS] = builtins.build_zero(self.gvk).get(STATUS, {})
        self.rules.prepare_create(value, context)
        self._drop_empty_lists(value)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Keep all but the status on `/status`, else the status; then call the kind's rules."""
        if context.subresource in (STATUS, APPROVAL):
            self._keep_all_but_status(value, old)
        elif self.has_status:
            if STATUS in old:
                value[STATUS] = copy_value(old[STATUS])
            else:
                value.pop(STATUS, None)
        self.rules.prepare_update(value, old, context)
        self._drop_empty_lists(value)

    def _drop_empty_lists(self, value: Object) -> None:
        """Replace empty required lists by null, as storage in protobuf does in Kubernetes."""
        for *parents, last in self.rules.required_lists:
            place: Object = value
            for name in parents:
                place = place.get(name) or {}
            if place.get(last) == []:
                place[last] = None

    def _keep_all_but_status(self, value: Object, old: Object) -> None:
        for member in (value.keys() | old.keys()) - {STATUS, "metadata"}:
            if member in old:
                value[member] = copy_value(old[member])
            else:
                value.pop(member)
        if not self.rules.status_updates_labels:
            if "labels" in old["metadata"]:
                value["metadata"]["labels"] = dict(old["metadata"]["labels"])
            else:
                value["metadata"].pop("labels", None)

    def validate_create(self, value: Object, context: Context) -> Sequence[FieldError]:
        """Check a new object."""
        return [*self.rules.validate(value, context), *self.rules.validate_new(value, context)]

    def validate_update(self, value: Object, old: Object, context: Context) -> Sequence[FieldError]:
        """Check a changed object, or its changed status."""
        if context.subresource == STATUS:
            return [*self.rules.validate_status(value, old, context)]
        errors = [*self.rules.validate(value, context)]
        if errors and self._validates_twice():
            errors *= 2
        return [*errors, *self.rules.validate_change(value, old, context)]

    def _validates_twice(self) -> bool:
        if has_feature("ChangesAreCheckedOnce"):
            return self.rules.validates_twice_in_newer_releases
        return self.rules.validates_twice

    def bumps_generation(self, value: Object, old: Object, context: Context) -> bool:
        """Whether a member that counts for the generation changed."""
        if not self.has_generation:
            return False
        if context.subresource != STATUS:
            rules = self.rules
            if rules.annotations_bump_generation and _has_changed(value, old, "annotations"):
                return True
            if rules.labels_bump_generation and _has_changed(value, old, "labels"):
                return True
        exempt = self.rules.generation_exempt
        return any(
            _drop_members(value.get(member), exempt) != _drop_members(old.get(member), exempt)
            for member in self.rules.generation_fields
        )

    def find_warnings(self, value: Object, old: Object | None, context: Context) -> Sequence[str]:
        """Find the warnings of the kind."""
        return self.rules.warn(value, old, context)

    def validate_name(self, name: str, *, is_prefix: bool) -> Sequence[str]:
        """Check the kind's rule for names."""
        return names.check_object_name(self.rules.name, name, is_prefix=is_prefix)

    def reset_fields(self, subresource: str) -> Sequence[tuple[str, ...]]:
        """Return the paths that a writer never owns: the status, or spec and labels."""
        if not self.has_status:
            return ()
        if subresource == STATUS:
            if self.rules.status_updates_labels:
                return (("spec",),)
            return (("spec",), ("metadata", "labels"))
        return ((STATUS,),)

    # deletion ------------------------------------------------------------------------------------

    def compute_grace_period(self, value: Object, requested: int | None) -> int:
        """Compute the grace period; only pods have one."""
        return self.rules.grace_period(value, requested)

    def begin_delete(self, value: Object, context: Context) -> bool:
        """Call the kind's rule for the start of a deletion; Namespaces become Terminating."""
        return self.rules.begin_delete(value, context)

    def is_kept(self, value: Object) -> bool:
        """Whether the kind keeps a deleted object; Namespaces wait for their contents."""
        return self.rules.is_kept(value)

    # reads ---------------------------------------------------------------------------------------

    @property
    def selectable(self) -> frozenset[str]:
        """The kind's field selectors."""
        return frozenset(self.rules.selectable)

    def get_field_values(self, value: Object) -> Mapping[str, str]:
        """Return the values of the field selectors."""
        if self.rules.field_values is not None:
            return self.rules.field_values(value)
        return {
            path: get_text(value, path, absent) for path, absent in self.rules.selectable.items()
        }

    @property
    def columns(self) -> Sequence[Column]:
        """The columns kubectl shows."""
        return self.rules.columns

    def build_cells(self, value: Object, now: datetime) -> Sequence[object]:
        """Build one row of the table."""
        return self.rules.cells(value, now)

    # scale ---------------------------------------------------------------------------------------

    def read_scale(self, value: Object) -> Scale | None:
        """Read the scale of an object; None if the kind has no scale."""
        if not self.rules.scales:
            return None
        spec, status = value.get("spec") or {}, value.get(STATUS) or {}
        return Scale(
            spec.get("replicas") or 0, status.get("replicas") or 0, self.rules.scale_selector(value)
        )

    def write_scale(self, value: Object, replicas: int) -> None:
        """Set `spec.replicas`."""
        value.setdefault("spec", {})["replicas"] = replicas


def get_text(value: Object, path: str, absent: str = "") -> str:
    """Return a value as the text a field selector compares."""
    place: object = value
    for name in path.split("."):
        if not isinstance(place, dict) or place.get(name) is None:
            return absent
        place = place[name]
    match place:
        case bool():
            return "true" if place else "false"
        case _:
            return str(place)


def _has_changed(value: Object, old: Object, member: str) -> bool:
    """Whether a mapping in the metadata changed."""
    after, before = (each["metadata"].get(member) or {} for each in (value, old))
    return bool(after != before)


def _drop_members(part: object, names: frozenset[str]) -> object:
    """Return a part of an object without some of its members."""
    if not names or not isinstance(part, dict):
        return part
    return {name: each for name, each in part.items() if name not in names}
