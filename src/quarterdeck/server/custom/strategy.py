"""The strategy of custom resources: prune, default, validate, evaluate rules."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.meta.structural import CompiledSchema
from quarterdeck.meta.structural.admit import DefaultsTooLarge
from quarterdeck.meta.structural.inlined.pruning import has_large_integer
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.custom import embedded_metadata
from quarterdeck.server.custom.expressions import Expressions, explain_skipped
from quarterdeck.server.custom.jsonpath import compile_path
from quarterdeck.server.custom.printer_columns import PrinterColumns
from quarterdeck.server.custom.scale import ScalePaths
from quarterdeck.server.registry import plain_metadata
from quarterdeck.server.registry.conversion import Converter
from quarterdeck.server.registry.go_numbers import round_large_integers
from quarterdeck.server.registry.metadata_validation import KNOWN_FINALIZERS
from quarterdeck.server.registry.resource import (
    STATUS,
    Column,
    Context,
    NormalizedObject,
    Object,
    Scale,
    ValidationTooExpensive,
)
from quarterdeck.wire.status import BadRequest, RequestEntityTooLarge


class CustomStrategy(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The strategy of one served version of a custom resource; built in `resources`."""

    kind: str
    api_version: str
    stored_api_version: str
    schema: CompiledSchema
    status_schema: CompiledSchema | None
    """The schema of `status`; None if the definition has no status subresource."""
    has_status: bool
    has_embedded: bool
    scale: ScalePaths | None
    printer: PrinterColumns
    selectable_paths: Mapping[str, str]
    expressions: Expressions | None
    stored_as_served: bool
    stored_schemas: Mapping[str, CompiledSchema] = {}
    """The schemas of all versions, by apiVersion; objects may be stored in any of them."""
    converter: Converter | None
    """Converts by a webhook; None if conversion only changes the apiVersion."""

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
        """Whether a body must have kind and apiVersion: always."""
        return True

    # shape ---------------------------------------------------------------------------------------

    def normalize(self, value: Object) -> NormalizedObject:
        """Prune unknown fields, and normalize the metadata.

        Raises:
            BadRequest: for metadata of a wrong type.
        """
        unknown: list[str] = []
        is_plain = plain_metadata.is_plain(metadata := value.get("metadata"))
        if not self.schema.is_unchanged_by_pruning(value) or (
            not is_plain and has_large_integer(metadata)
        ):
            unknown += self.schema.prune(value).unknown
            round_large_integers(value)
        try:
            if is_plain:
                value["metadata"] = plain_metadata.sort_plain(value["metadata"])
            else:
                unknown += embedded_metadata.coerce_metadata(value)
            if self.has_embedded:
                for path, part in embedded_metadata.find_embedded(self.schema.node, value):
                    unknown += embedded_metadata.coerce_embedded(part, path)
        except embedded_metadata.InvalidMetadata as error:
            version = self.api_version.rpartition("/")[2]
            raise BadRequest(
                f'{self.kind} in version "{version}" cannot be handled as a {self.kind}: {error}'
            ) from error
        return NormalizedObject(value, tuple(sorted(unknown)) if unknown else ())

    def default(self, value: Object) -> None:
        """Fill in the schema's defaults.

        Raises:
            RequestEntityTooLarge: if they are larger than an object may be.
        """
        try:
            self.schema.default_walk(value)
        except DefaultsTooLarge as error:
            raise _build_too_large(error) from error

    def default_applied(self, value: Object) -> None:
        """Fill in the schema's defaults, and leave nulls for validation to find."""
        _fill_defaults(self.schema, value, keeps_nulls=True)

    def to_stored(self, value: Object) -> Object:
        """Convert the object to the storage version."""
        if self.api_version == self.stored_api_version:
            return value
        if self.converter is not None:
            return self.converter.convert(value, self.stored_api_version)
        stored: Object = copy_value({**value, "apiVersion": self.stored_api_version})
        schema = self.stored_schemas.get(self.stored_api_version)
        if schema is not None:
            schema.prune(stored)
            _fill_defaults(schema, stored)
        return stored

    def to_served(self, value: Object) -> Object:
        """Convert a stored object to this version.

        The schema of the version it is stored in prunes and defaults it first, since the schema
        may have changed since. The schema of this version only prunes it, as in Kubernetes.
        """
        if not self.stored_as_served:
            stored = self.stored_schemas.get(value.get("apiVersion") or "")
            if stored is not None:
                stored.prune(value)
                _fill_defaults(stored, value)
        if value.get("apiVersion") != self.api_version:
            if self.converter is not None:
                value = self.converter.convert(value, self.api_version)
            else:
                value = {**value, "apiVersion": self.api_version}
            self.schema.prune(value)
        return value

    # writes --------------------------------------------------------------------------------------

    def prepare_create(self, value: Object, context: Context) -> None:
        """Drop the status of a new object."""
        if self.has_status:
            value.pop(STATUS, None)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Keep the status on the main endpoint, and everything else on `/status`."""
        if context.subresource == STATUS:
            status = value.get(STATUS)
            managed = value.get("metadata", {}).get("managedFields")
            value.clear()
            value.update(old)  # whose parts are only read from now on, all but the metadata
            value["metadata"] = dict(old["metadata"])
            value.pop(STATUS, None)
            if status is not None:
                value[STATUS] = status
            if managed is not None:
                value["metadata"]["managedFields"] = managed
        elif self.has_status:
            value.pop(STATUS, None)
            if STATUS in old:
                value[STATUS] = old[STATUS]

    def validate_create(self, value: Object, context: Context) -> Sequence[FieldError]:
        """Validate schema, scale, embedded metadata, duplicate list items and CEL rules."""
        if errors := self._validate_type(value):
            return errors
        errors = self.schema.validate(value)
        if self.scale is not None or self.has_embedded:
            errors += self._validate_common(value)
        errors += self.schema.find_duplicates(value)
        return errors + self._validate_expressions(value, None, errors, context)

    def validate_update(self, value: Object, old: Object, context: Context) -> Sequence[FieldError]:
        """Check a changed object; errors in unchanged fields are tolerated (ratcheting)."""
        if errors := self._validate_type(value):
            return errors
        is_status = context.subresource == STATUS
        if is_status:
            errors += self._validate_status(value, old)
        else:
            errors += self.schema.validate(value, old)
            errors += self._validate_common(value)
        repeated = self.schema.find_duplicates(value)
        if repeated and not self.schema.find_duplicates(old):
            errors += repeated
        return errors + self._validate_expressions(value, old, errors, context)

    def _validate_status(self, value: Object, old: Object) -> Iterator[FieldError]:
        if self.status_schema is not None and STATUS in value:
            yield from self.status_schema.validate(value[STATUS], prefix=STATUS)
        if self.scale is not None:
            yield from self.scale.validate(value, status_only=True)

    def _validate_common(self, value: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        if self.scale is not None:
            errors += self.scale.validate(value, status_only=False)
        if self.has_embedded:
            for path, part in embedded_metadata.find_embedded(self.schema.node, value):
                errors += embedded_metadata.validate_embedded(path, part)
        return errors

    def _validate_type(self, value: Object) -> list[FieldError]:
        if value.get("kind") == self.kind and value.get("apiVersion") == self.api_version:
            return []
        expected = {"kind": self.kind, "apiVersion": self.api_version}
        return [
            invalid(name, value.get(name), f"must be {text}")
            for name, text in expected.items()
            if value.get(name) != text
        ]

    def _validate_expressions(
        self, value: Object, old: Object | None, errors: Sequence[FieldError], context: Context
    ) -> list[FieldError]:
        if self.expressions is None:
            return []
        if errors or context.metadata_errors:
            note = explain_skipped([*context.metadata_errors, *errors])
            if note is not None:
                return [note]
        if not context.is_quick:
            return self.expressions.validate(value, old)
        found = self.expressions.validate_quickly(value, old)
        if found is None:
            raise ValidationTooExpensive
        return found

    def bumps_generation(self, value: Object, old: Object, context: Context) -> bool:
        """Whether anything changed besides metadata, and besides a status with its own endpoint."""
        if context.subresource == STATUS:
            return False
        apart = {"metadata"} if not self.has_status else {"metadata", STATUS}
        keys = (value.keys() | old.keys()) - apart
        return any(value.get(key) != old.get(key) for key in keys)

    def find_warnings(self, value: Object, old: Object | None, context: Context) -> Sequence[str]:
        """Warn of new finalizers without a domain."""
        if context.subresource or not value["metadata"].get("finalizers"):
            return []
        before = (old or {}).get("metadata", {}).get("finalizers") or ()
        added = set(value.get("metadata", {}).get("finalizers") or ()) - set(before)
        return [warning for name in sorted(added) for warning in _find_finalizer_warnings(name)]

    def validate_name(self, name: str, *, is_prefix: bool) -> Sequence[str]:
        """Check that the name is a DNS subdomain."""
        return names.check_object_name("subdomain", name, is_prefix=is_prefix)

    def reset_fields(self, subresource: str) -> Sequence[tuple[str, ...]]:
        """Return the paths that a writer never owns: the status, or the spec on `/status`."""
        if subresource == STATUS:
            return (("spec",),)
        return ((STATUS,),) if self.has_status else ()

    # deletion ------------------------------------------------------------------------------------

    def compute_grace_period(self, value: Object, requested: int | None) -> int:
        """Return 0: custom resources have no grace period."""
        return 0

    def begin_delete(self, value: Object, context: Context) -> bool:
        """Return False: only finalizers keep a custom resource."""
        return False

    def is_kept(self, value: Object) -> bool:
        """Return False: only finalizers keep a custom resource."""
        return False

    # reads ---------------------------------------------------------------------------------------

    @property
    def selectable(self) -> frozenset[str]:
        """The fields the definition declares selectable."""
        return frozenset(self.selectable_paths)

    def get_field_values(self, value: Object) -> Mapping[str, str]:
        """Return the values of the selectable fields as text."""
        return {name: _format_field(value, path) for name, path in self.selectable_paths.items()}

    @property
    def columns(self) -> Sequence[Column]:
        """The printer columns."""
        return self.printer.columns

    def build_cells(self, value: Object, now: datetime) -> Sequence[object]:
        """Build one row of the table."""
        return self.printer.build_cells(value, now)

    # scale ---------------------------------------------------------------------------------------

    def read_scale(self, value: Object) -> Scale | None:
        """Read the scale, where the definition declares one."""
        return self.scale.read(value) if self.scale is not None else None

    def write_scale(self, value: Object, replicas: int) -> None:
        """Set the number of wanted replicas."""
        if self.scale is not None:
            self.scale.write(value, replicas)


def _fill_defaults(schema: CompiledSchema, value: Object, *, keeps_nulls: bool = False) -> None:
    try:
        schema.default(value, keeps_nulls=keeps_nulls)
    except DefaultsTooLarge as error:
        raise _build_too_large(error) from error


def _build_too_large(error: DefaultsTooLarge) -> RequestEntityTooLarge:
    return RequestEntityTooLarge(f"Request entity too large: {error}")


def _format_field(value: Any, path: str) -> str:
    found = compile_path(path)(value)
    match found[0] if found else None:
        case None:
            return ""
        case bool() as flag:
            return "true" if flag else "false"
        case other:
            return str(other)


def _find_finalizer_warnings(name: str) -> Iterator[str]:
    place = f'metadata.finalizers: "{name}"'
    for problem in names.check_qualified_name(name):
        yield f"{place}: {problem}"
    if "/" not in name and name not in KNOWN_FINALIZERS:
        path = " including a path (/)" if "." in name else ""
        yield (
            f"{place}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts"
            " with other finalizer writers"
        )
