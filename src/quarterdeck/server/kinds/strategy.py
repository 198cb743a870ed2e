"""The rules of a built-in kind as data, and the strategy that follows them.

A kind's module fills in a `Rules` with functions and leaves the rest at its defaults: most kinds
have defaults, a few checks and the columns of their table. `BuiltinStrategy` makes a `Strategy` of
them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module

import msgspec

from quarterdeck.meta import builtins, names
from quarterdeck.meta.field import FieldError
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.kinds import features
from quarterdeck.server.registry.printer import AGE, NAME, format_creation_age
from quarterdeck.server.registry.resource import (
    STATUS,
    Column,
    Context,
    NormalizedObject,
    Object,
    Scale,
)
from quarterdeck.wire.status import BadRequest

FieldErrors = Iterable[FieldError]
Cells = Callable[[Object, datetime], Sequence[object]]


def do_nothing(*_: object) -> None:
    """Do nothing; the default of a kind without such a step."""


def find_no_errors(*_: object) -> FieldErrors:
    """Find no errors; the default of a kind without checks."""
    return ()


def find_no_warnings(*_: object) -> Sequence[str]:
    """Find no warnings; the default of a kind without warnings."""
    return ()


def build_name_and_age(value: Object, now: datetime) -> Sequence[object]:
    """Build the cells of a kind without columns of its own."""
    return (value["metadata"].get("name", ""), format_creation_age(value, now))


def keep_as_is(value: Object) -> Object:
    """The conversion of a kind with one version."""
    return value


APPROVAL = "approval"
"""The endpoint that decides on certificate requests; what it writes is in the status too."""


class Rules(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The rules of one kind at one version."""

    default: Callable[[Object], None] = do_nothing
    prepare_create: Callable[[Object, Context], None] = do_nothing
    prepare_update: Callable[[Object, Object, Context], None] = do_nothing
    validate: Callable[[Object, Context], FieldErrors] = find_no_errors
    """Asked of new objects and of changed ones."""
    validate_new: Callable[[Object, Context], FieldErrors] = find_no_errors
    validate_change: Callable[[Object, Object, Context], FieldErrors] = find_no_errors
    """What may not change; asked on the main endpoint only."""
    validate_status: Callable[[Object, Object, Context], FieldErrors] = find_no_errors
    """Asked of changes through the status endpoint only."""
    validates_twice: bool = False
    """Whether Kubernetes checks changed objects twice, and lists what it finds twice."""
    validates_twice_still: bool = False
    """Whether newer releases do so too."""
    warn: Callable[[Object, Object | None, Context], Sequence[str]] = find_no_warnings

    required_lists: tuple[tuple[str, ...], ...] = ()
    """Paths of lists that are always written, as null when they are empty."""

    name: names.NameKind = "subdomain"
    generation_fields: tuple[str, ...] = ()
    """The members whose change raises the generation; empty for kinds without generation."""
    keeps_generation: bool = False
    """Whether objects begin with a generation that never changes."""
    generation_feature: str = ""
    """The feature without which the kind has no generation."""
    generation_exempt: frozenset[str] = frozenset()
    """Members of the counted ones that change without raising it."""
    labels_bump_generation: bool = False
    """Whether a change of labels raises the generation too."""
    annotations_bump_generation: bool = False
    """Whether a change of annotations raises the generation too."""
    allows_unconditional_update: bool = True
    allows_create_on_update: bool = False
    keeps_status_on_create: bool = False
    """Nodes and kinds without a status endpoint bring their own status."""
    status_updates_labels: bool = False
    """Whether writers of the status may change metadata along with it."""

    selectable: Mapping[str, str] = {}
    """Field selectors, and what an absent field counts as."""
    field_values: Callable[[Object], Mapping[str, str]] | None = None
    columns: tuple[Column, ...] = (NAME, AGE)
    cells: Cells = build_name_and_age
    scales: bool = False
    scale_selector: Callable[[Object], str] = lambda value: ""

    to_stored: Callable[[Object], Object] = keep_as_is
    to_served: Callable[[Object], Object] = keep_as_is
    converts: bool = False

    grace_period: Callable[[Object, int | None], int] = lambda value, requested: 0
    begin_delete: Callable[[Object, Context], bool] = lambda value, context: False
    is_kept: Callable[[Object], bool] = lambda value: False


DEFAULT_RULES = Rules()


class BuiltinStrategy:
    """Follows the rules of one built-in kind, which are loaded when they are first asked for."""

    __slots__ = ("_home", "_rules", "gvk", "has_status")

    def __init__(self, gvk: GVK, home: str = "strategy.DEFAULT_RULES", *, has_status: bool) -> None:
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
            assert isinstance(found, Rules)  # the catalog names only rules, a test asks them all
            self._rules = found
        return self._rules

    # policies ------------------------------------------------------------------------------------

    @property
    def has_generation(self) -> bool:
        """Whether the kind counts changes of its spec."""
        feature = self.rules.generation_feature
        if feature and not features.is_on(feature):
            return False
        return bool(self.rules.generation_fields) or self.rules.keeps_generation

    @property
    def allow_unconditional_update(self) -> bool:
        """Most built-in kinds may be replaced blindly."""
        return self.rules.allows_unconditional_update

    @property
    def allow_create_on_update(self) -> bool:
        """A few kinds may be created by PUT."""
        return self.rules.allows_create_on_update

    @property
    def needs_type_meta(self) -> bool:
        """The endpoint says the kind."""
        return False

    @property
    def stored_as_served(self) -> bool:
        """Kinds served in two forms are stored in one of them."""
        return not self.rules.converts

    # shape ---------------------------------------------------------------------------------------

    def normalise(self, value: Object) -> NormalizedObject:
        """Take a body through the kind's type.

        Raises:
            BadRequest: for a value of a wrong type, in Go's words.
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
        """The object in the form it is stored in."""
        return self.rules.to_stored(value)

    def to_served(self, value: Object) -> Object:
        """The object in the form of this resource."""
        return self.rules.to_served(value)

    # writes --------------------------------------------------------------------------------------

    def prepare_create(self, value: Object, context: Context) -> None:
        """Start with an empty status, then let the kind derive what it derives."""
        if self.has_status and not self.rules.keeps_status_on_create:
            value[STATUS] = builtins.build_zero(self.gvk).get(STATUS, {})
        self.rules.prepare_create(value, context)
        self._drop_empty_lists(value)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Each endpoint changes its own part."""
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
        """Make required lists null when they are empty: protobuf, which Kubernetes stores, does."""
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
        if features.is_on("ChangesAreCheckedOnce"):
            return self.rules.validates_twice_still
        return self.rules.validates_twice

    def bumps_generation(self, value: Object, old: Object, context: Context) -> bool:
        """One of the counted members changed."""
        if not self.has_generation:
            return False
        if context.subresource != STATUS:
            rules = self.rules
            if rules.annotations_bump_generation and _differ(value, old, "annotations"):
                return True
            if rules.labels_bump_generation and _differ(value, old, "labels"):
                return True
        exempt = self.rules.generation_exempt
        return any(
            _without(value.get(member), exempt) != _without(old.get(member), exempt)
            for member in self.rules.generation_fields
        )

    def find_warnings(self, value: Object, old: Object | None, context: Context) -> Sequence[str]:
        """Find the warnings of the kind."""
        return self.rules.warn(value, old, context)

    def validate_name(self, name: str, *, is_prefix: bool) -> Sequence[str]:
        """Check the kind's rule for names."""
        return names.check_object_name(self.rules.name, name, is_prefix=is_prefix)

    def reset_fields(self, subresource: str) -> Sequence[tuple[str, ...]]:
        """Writers of the object never own its status, and the other way around."""
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
        """Namespaces become Terminating."""
        return self.rules.begin_delete(value, context)

    def is_kept(self, value: Object) -> bool:
        """Namespaces wait for their contents."""
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
        """`spec.replicas`, where the kind scales."""
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


def _differ(value: Object, old: Object, member: str) -> bool:
    """Whether a mapping in the metadata changed."""
    after, before = (each["metadata"].get(member) or {} for each in (value, old))
    return bool(after != before)


def _without(part: object, names: frozenset[str]) -> object:
    """A part of an object without some of its members."""
    if not names or not isinstance(part, dict):
        return part
    return {name: each for name, each in part.items() if name not in names}
