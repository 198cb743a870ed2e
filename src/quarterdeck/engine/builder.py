"""Builds the parts of a source one by one, and collects every problem."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from quarterdeck.apis.clusterpulse.metric_source import (
    Aggregation,
    ComputedField,
    FieldExtraction,
    MetricSourceSpec,
)
from quarterdeck.engine import compat, conversion
from quarterdeck.engine.aggregation import CompiledAggregation
from quarterdeck.engine.alerts import CompiledAlert
from quarterdeck.engine.errors import Problem
from quarterdeck.engine.expressions.checker import check, suggest
from quarterdeck.engine.expressions.compat import CompatExpression
from quarterdeck.engine.expressions.compiler import CompiledExpression
from quarterdeck.engine.expressions.errors import ExpressionError
from quarterdeck.engine.expressions.parser import parse
from quarterdeck.engine.expressions.tree import Expression, find_names
from quarterdeck.engine.filters import CompiledFilter, FilterError
from quarterdeck.engine.order import CycleError, sort_topologically
from quarterdeck.engine.paths import Every, Path, PathError, parse_compat_path, parse_path
from quarterdeck.engine.program import METADATA_NAMES, CompiledComputed, CompiledField
from quarterdeck.engine.values import BOOL, LIST, NULL, NUMBER, TEXT

MAX_ENTRIES = 256
"""Maximum number of fields, computed fields, aggregations or alerts of one source."""

_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_FIELD_KINDS = {"string": TEXT, "timestamp": TEXT, "boolean": BOOL}
_COMPUTED_KINDS = {"string": TEXT, "boolean": BOOL}


class _Parsed(NamedTuple):
    """An expression that was parsed."""

    place: str
    spec: ComputedField
    tree: Expression


class Builder:
    """Builds and checks a source; `problems` is empty if it is valid."""

    def __init__(self, spec: MetricSourceSpec) -> None:
        self._spec = spec
        self.is_compat = spec.expression_mode == "compat"
        self.problems: list[Problem] = []
        self.kinds: dict[str, int] = {}
        """The kinds of value of each name."""
        self.fields: list[CompiledField] = []
        self.computed: list[CompiledComputed] = []
        self.aggregations: list[CompiledAggregation] = []
        self.alerts: list[CompiledAlert] = []
        if not self.is_compat:
            self.kinds.update(dict.fromkeys(METADATA_NAMES, TEXT))

    def build(self) -> None:
        """Build everything that can be built."""
        self._check_source()
        self._build_fields()
        self._build_computed()
        self._build_aggregations()
        self._build_alerts()

    def _note(self, field: str, message: str, *, name: str = "", hint: str = "") -> None:
        self.problems.append(Problem(field=field, name=name, message=message, hint=hint))

    def _check_source(self) -> None:
        source = self._spec.source
        if not source.api_version:
            self._note("source.apiVersion", "source.apiVersion is required")
        elif _API_VERSION.fullmatch(source.api_version) is None:
            message = f"{source.api_version!r} is not an API version"
            self._note("source.apiVersion", message, hint="write VERSION or GROUP/VERSION")
        if not source.kind:
            self._note("source.kind", "source.kind is required")
        is_core = "/" not in source.api_version
        if is_core and (source.kind.lower() == "secret" or source.resource == "secrets"):
            hint = "choose another kind"
            self._note("source.kind", "Secrets are never collected", hint=hint)
        if not self._spec.fields:
            self._note("fields", "at least one field extraction is required")
        lists: tuple[tuple[str, Sequence[Any]], ...] = (
            ("fields", self._spec.fields),
            ("computed", self._spec.computed),
            ("aggregations", self._spec.aggregations),
            ("alerts", self._spec.alerts),
        )
        for name, entries in lists:
            if len(entries) > MAX_ENTRIES:
                hint = "split the source into several"
                message = f"{len(entries)} entries, the limit is {MAX_ENTRIES}"
                self._note(name, message, hint=hint)

    def _build_fields(self) -> None:
        seen: set[str] = set()
        for index, field in enumerate(self._spec.fields[:MAX_ENTRIES]):
            place = f"fields[{index}]"
            if not field.name:
                self._note(f"{place}.name", "field name cannot be empty")
            elif field.name in seen:
                self._note(f"{place}.name", "duplicate field name", name=field.name)
            elif (path := self._parse_path(place, field)) is not None:
                is_list = any(isinstance(step, Every) for step in path)
                self.fields.append(self._compile_field(field, path, is_list=is_list))
            seen.add(field.name)

    def _parse_path(self, place: str, field: FieldExtraction) -> Path | None:
        try:
            path = parse_compat_path(field.path) if self.is_compat else parse_path(field.path)
        except PathError as error:
            self._declare(field, is_list=False)
            self._note_at_position(f"{place}.path", field.name, field.path, error)
            return None
        if not path:
            self._declare(field, is_list=False)
            self._note(f"{place}.path", "path cannot be empty", name=field.name)
            return None
        return path

    def _declare(self, field: FieldExtraction, *, is_list: bool) -> None:
        kinds = _FIELD_KINDS.get(field.type, NUMBER)
        if is_list and field.type != "arrayLength":
            kinds = LIST
        self.kinds[field.name] = kinds | NULL

    def _compile_field(self, field: FieldExtraction, path: Path, *, is_list: bool) -> CompiledField:
        self._declare(field, is_list=is_list)
        convert = compat.convert_default if self.is_compat else conversion.convert_default
        default = None if field.default is None else convert(field.type, field.default)
        if self.is_compat:
            return CompiledField(
                field.name, path, compat.CompatColumnConverter(field.type, default)
            )
        if is_list and default is not None and field.type != "arrayLength":
            default = [default]
        converter = conversion.ColumnConverter(field.type, default, is_list=is_list)
        return CompiledField(field.name, path, converter)

    def _note_at_position(
        self, field: str, name: str, text: str, error: PathError | ExpressionError
    ) -> None:
        problem = Problem(
            field=field,
            name=name,
            message=error.message,
            hint=error.hint,
            text=text,
            position=error.position,
        )
        self.problems.append(problem)

    def _build_computed(self) -> None:
        parsed = self._parse_all()
        if not self.is_compat:
            for each in parsed.values():
                self._declare_computed(each.spec)
        for each in parsed.values():
            self._check_names(each)
            if self.is_compat:
                self._declare_computed(each.spec)
        kind = CompatExpression if self.is_compat else CompiledExpression
        for name in self._sort_computed(parsed):
            each = parsed[name]
            try:
                self.computed.append(CompiledComputed(name, kind(each.tree, each.spec.type)))
            except ExpressionError as error:
                self._note_at_position(each.place, name, each.spec.expression, error)

    def _declare_computed(self, each: ComputedField) -> None:
        self.kinds[each.name] = _COMPUTED_KINDS.get(each.type, NUMBER) | NULL

    def _parse_all(self) -> dict[str, _Parsed]:
        """Parse every expression; returns the valid ones by name."""
        fields = {field.name for field in self._spec.fields}
        found: dict[str, _Parsed] = {}
        for index, each in enumerate(self._spec.computed[:MAX_ENTRIES]):
            place = f"computed[{index}]"
            if not each.name:
                self._note(f"{place}.name", "computed field name cannot be empty")
            elif each.name in fields:
                message = "computed field name conflicts with extracted field"
                self._note(f"{place}.name", message, name=each.name)
            elif each.name in found:
                self._note(f"{place}.name", "duplicate computed field name", name=each.name)
            else:
                place = f"{place}.expression"
                try:
                    tree = parse(each.expression, compat=self.is_compat)
                except ExpressionError as error:
                    self._note_at_position(place, each.name, each.expression, error)
                    self._declare_computed(each)
                else:
                    found[each.name] = _Parsed(place, each, tree)
        return found

    def _check_names(self, each: _Parsed) -> None:
        spec = each.spec
        if not self.is_compat:
            for error in check(each.tree, self.kinds, owner=spec.name):
                self._note_at_position(each.place, spec.name, spec.expression, error)
            return
        for name, position in find_names(each.tree).items():
            if name not in self.kinds:
                message = f"computed field '{spec.name}' references unknown field '{name}'"
                error = ExpressionError(message, position, suggest(name, self.kinds))
                self._note_at_position(each.place, spec.name, spec.expression, error)

    def _sort_computed(self, parsed: dict[str, _Parsed]) -> list[str]:
        """The order of computation; nothing while there are problems."""
        needs = {name: frozenset(find_names(each.tree)) for name, each in parsed.items()}
        try:
            order = sort_topologically(needs)
        except CycleError as error:
            message = f"computed fields form a cycle: {error}"
            hint = "compute one of them from extracted fields only"
            self._note("computed", message, name=error.path[0], hint=hint)
            return []
        return [] if self.problems else order

    def _build_aggregations(self) -> None:
        seen: set[str] = set()
        for index, each in enumerate(self._spec.aggregations[:MAX_ENTRIES]):
            place = f"aggregations[{index}]"
            before = len(self.problems)
            if not each.name:
                self._note(f"{place}.name", "aggregation name cannot be empty")
            elif each.name in seen:
                self._note(f"{place}.name", "duplicate aggregation name", name=each.name)
            seen.add(each.name)
            self._check_aggregation(place, each)
            filter_ = self._filter(place, each)
            if len(self.problems) == before:
                compiled = CompiledAggregation(each, filter_, is_compat=self.is_compat)
                self.aggregations.append(compiled)

    def _build_alerts(self) -> None:
        kinds = {each.name: NUMBER | NULL for each in self._spec.aggregations if each.name}
        seen: set[str] = set()
        for index, rule in enumerate(self._spec.alerts[:MAX_ENTRIES]):
            place = f"alerts[{index}]"
            if not rule.name:
                self._note(f"{place}.name", "alert name cannot be empty")
            elif rule.name in seen:
                self._note(f"{place}.name", "duplicate alert name", name=rule.name)
            seen.add(rule.name)
            try:
                tree = parse(rule.expression, compat=False)
                for error in check(tree, kinds, noun="aggregation", is_condition=True):
                    self._note_at_position(f"{place}.expression", rule.name, rule.expression, error)
                self.alerts.append(CompiledAlert(rule, CompiledExpression(tree, "boolean")))
            except ExpressionError as error:
                self._note_at_position(f"{place}.expression", rule.name, rule.expression, error)

    def _check_aggregation(self, place: str, each: Aggregation) -> None:
        if each.function != "count":
            if not each.field:
                message = f"{each.function} requires a field"
                self._note(f"{place}.field", message, name=each.name, hint="set field")
            else:
                self._check_reference(f"{place}.field", each, each.field)
        if each.group_by and not self.is_compat:
            self._check_reference(f"{place}.groupBy", each, each.group_by)
        if each.percentile is not None and not 0 <= each.percentile <= 100:
            message = f"percentile {each.percentile} is out of range"
            hint = "set a number from 0 to 100"
            self._note(f"{place}.percentile", message, name=each.name, hint=hint)

    def _check_reference(self, place: str, each: Aggregation, name: str) -> None:
        if name not in self.kinds:
            hint = suggest(name, self.kinds) or "name an extracted or computed field"
            self._note(place, f"unknown field {name!r}", name=each.name, hint=hint)

    def _filter(self, place: str, each: Aggregation) -> CompiledFilter | None:
        if each.filter is None:
            return None
        self._check_reference(f"{place}.filter.field", each, each.filter.field)
        try:
            return CompiledFilter(each.filter, is_compat=self.is_compat)
        except FilterError as error:
            self._note(f"{place}.filter.value", error.message, name=each.name, hint=error.hint)
            return None
