"""The rules of a built-in kind as data.

A kind's module fills in a `Rules` with functions and leaves the rest at its defaults: most kinds
have defaults, a few checks and the columns of their table. `BuiltinStrategy` follows them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError
from quarterdeck.server.registry.printer import AGE, NAME, format_creation_age
from quarterdeck.server.registry.resource import Column, Context, Object

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
    """Return the object unchanged: the conversion of a kind with one version."""
    return value


class Rules(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The rules of one kind at one version."""

    default: Callable[[Object], None] = do_nothing
    prepare_create: Callable[[Object, Context], None] = do_nothing
    prepare_update: Callable[[Object, Object, Context], None] = do_nothing
    validate: Callable[[Object, Context], FieldErrors] = find_no_errors
    """Called for new and for changed objects, but not for writes of the status."""
    validate_new: Callable[[Object, Context], FieldErrors] = find_no_errors
    validate_change: Callable[[Object, Object, Context], FieldErrors] = find_no_errors
    """Compares a changed object with the old one; not called for writes of the status."""
    validate_status: Callable[[Object, Object, Context], FieldErrors] = find_no_errors
    """Called for writes of the status only."""
    validates_twice: bool = False
    """Whether Kubernetes validates changed objects twice, and reports each error twice."""
    validates_twice_in_newer_releases: bool = False
    """Whether newer releases do so too."""
    warn: Callable[[Object, Object | None, Context], Sequence[str]] = find_no_warnings

    required_lists: tuple[tuple[str, ...], ...] = ()
    """Paths of lists that are always written, as null when they are empty."""

    name: names.NameKind = "subdomain"
    generation_fields: tuple[str, ...] = ()
    """Members whose change increases the generation; empty for kinds without generation."""
    keeps_generation: bool = False
    """Whether objects have a generation that never changes."""
    generation_feature: str = ""
    """The feature without which the kind has no generation."""
    generation_exempt: frozenset[str] = frozenset()
    """Members inside `generation_fields` whose change does not increase the generation."""
    labels_bump_generation: bool = False
    """Whether a change of labels increases the generation too."""
    annotations_bump_generation: bool = False
    """Whether a change of annotations increases the generation too."""
    allows_unconditional_update: bool = True
    allows_create_on_update: bool = False
    keeps_status_on_create: bool = False
    """Whether the status of a new object is kept, as for nodes."""
    status_updates_labels: bool = False
    """Whether writes of the status may change labels too."""

    selectable: Mapping[str, str] = {}
    """Fields for field selectors, with the value of an absent field."""
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
