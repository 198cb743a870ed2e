"""What lists, watches and collections share: selection, versions and turns of the loop."""

from collections.abc import Callable

import msgspec

from quarterdeck.meta.field import FieldError, forbidden, not_supported
from quarterdeck.server.core.core import Core
from quarterdeck.server.core.durability import reached
from quarterdeck.server.registry.object_meta import facts_of
from quarterdeck.server.registry.resource import Resource
from quarterdeck.server.request.call import Call
from quarterdeck.server.response.responses import decode_stored
from quarterdeck.storage import Entry
from quarterdeck.wire.fields import FieldSelector
from quarterdeck.wire.labels import Selector, SelectorError
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError, BadRequest, Cause, Details, Invalid, Timeout

EXACT = "Exact"
NOT_OLDER = "NotOlderThan"
_MAX_VERSION = 2**64 - 1
_MAX_DIGITS = 20
_ALWAYS_SELECTABLE = frozenset({"metadata.name", "metadata.namespace"})


class Selection(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Which objects of a resource are meant."""

    resource: Resource
    namespace: str | None
    """None for all namespaces."""
    name: str | None = None
    """Set if only one object can match."""
    labels: Selector | None = None
    fields: FieldSelector | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out, so that counting is counting entries."""
        return self.name is None and self.labels is None and self.fields is None

    def matches(self, entry: Entry) -> bool:
        """Whether an entry of the resource and namespace is meant."""
        if self.name is not None and entry.key.name != self.name:
            return False
        if self.labels is not None and not self.labels.matches(facts_of(entry).labels or {}):
            return False
        return self.fields is None or self.fields.matches(self._field_getter(entry))

    def _field_getter(self, entry: Entry) -> Callable[[str], str]:
        if not self.resource.strategy.selectable:
            return {
                "metadata.name": entry.key.name,
                "metadata.namespace": entry.key.namespace,
            }.__getitem__
        values = {
            **self.resource.strategy.field_values(decode_stored(self.resource, entry.value)),
            "metadata.name": entry.key.name,
            "metadata.namespace": entry.key.namespace,
        }
        return lambda field: values.get(field, "")


def select(call: Call, options: ListOptions) -> Selection:
    """Read the selectors of a request.

    Raises:
        BadRequest: with the parser's words, or naming a field that cannot be selected by.
    """
    resource = call.resource
    labels = fields = None
    try:
        if options.label_selector:
            labels = Selector.parse(options.label_selector)
        if options.field_selector:
            fields = FieldSelector.parse(options.field_selector)
    except SelectorError as error:
        raise BadRequest(str(error)) from error
    name: str | None = call.path.name or None
    namespace: str | None = call.path.namespace or None
    if fields is not None:
        _check_fields(resource, fields)
        name = name or fields.exact("metadata.name")
        if namespace is None and resource.namespaced:
            namespace = fields.exact("metadata.namespace") or None
        if name is not None and all(
            each.field == "metadata.name" and each.matches(name) for each in fields.requirements
        ):
            fields = None
    if not resource.namespaced:
        namespace = None
    return Selection(
        resource=resource, namespace=namespace, name=name, labels=labels, fields=fields
    )


def _check_fields(resource: Resource, fields: FieldSelector) -> None:
    selectable = resource.strategy.selectable
    for each in fields.requirements:
        if each.field in _ALWAYS_SELECTABLE or each.field in selectable:
            continue
        if resource.is_custom or selectable:
            raise BadRequest(f"field label not supported: {each.field}")
        raise BadRequest(
            f'"{each.field}" is not a known field selector: only "metadata.name",'
            ' "metadata.namespace"'
        )


def check_options(options: ListOptions) -> None:
    """Refuse combinations of options that have no meaning.

    Raises:
        Invalid: naming each of them.
    """
    errors = _watch_errors(options) if options.watch else _list_errors(options)
    if errors:
        raise Invalid.of("ListOptions", "", errors, group="meta.k8s.io")


def _list_errors(options: ListOptions) -> list[FieldError]:
    if options.send_initial_events is not None:
        return [forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")]
    match, version = options.resource_version_match, options.resource_version
    if not match:
        return []
    field = "resourceVersionMatch"
    errors: list[FieldError] = []
    if not version:
        errors.append(forbidden(field, f"{field} is forbidden unless resourceVersion is provided"))
    if options.continue_:
        errors.append(forbidden(field, f"{field} is forbidden when continue is provided"))
    if match not in (EXACT, NOT_OLDER):
        errors.append(not_supported(field, match, (EXACT, NOT_OLDER, "")))
    elif match == EXACT and version == "0":
        errors.append(forbidden(field, f'{field} "Exact" is forbidden for resourceVersion "0"'))
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    field, initial = "resourceVersionMatch", "sendInitialEvents"
    match = options.resource_version_match
    errors: list[FieldError] = []
    if options.send_initial_events is not None:
        if match != NOT_OLDER:
            errors.append(forbidden(field, f"{initial} requires setting {field} to {NOT_OLDER}"))
            if match:
                errors.append(not_supported(field, match, (NOT_OLDER,)))
    elif match:
        errors.append(
            forbidden(field, f"{field} is forbidden for watch unless {initial} is provided")
        )
    if options.continue_:
        errors.append(forbidden("continue", "continue is forbidden for watch"))
    return errors


def parse_version(text: str) -> int:
    """A resource version as a number; 0 for none.

    Raises:
        ApiError: 500, as Kubernetes answers.
    """
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise _bad_version(text, "invalid syntax")
    version = int(text.lstrip("0")[: _MAX_DIGITS + 1] or "0")
    if version > _MAX_VERSION:
        raise _bad_version(text, "value out of range")
    return version


def _bad_version(text: str, problem: str) -> ApiError:
    return ApiError(
        f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {problem}',
        code=500,
    )


async def wait_for_version(core: Core, text: str) -> int:
    """Wait a little for a version that has not happened yet.

    Raises:
        Timeout: if it still has not.
    """
    version = parse_version(text)
    wait_s = core.options.future_revision_wait_s
    if not await reached(core, version, timeout_s=wait_s):
        raise Timeout(
            f"Timeout: Too large resource version: {version}, current: {core.store.revision}",
            details=Details(
                causes=(
                    Cause(reason="ResourceVersionTooLarge", message="Too large resource version"),
                ),
                retry_after_seconds=1,
            ),
        )
    return version


class Turns:
    """Gives the other requests a turn when this one has computed long enough."""

    __slots__ = ("_clock", "_slice_s", "_started")

    def __init__(self, core: Core) -> None:
        self._clock = core.clock
        self._slice_s = core.options.slice_s
        self._started = core.clock.monotonic()

    async def take(self) -> None:
        """Call now and then in a long computation."""
        if self._clock.monotonic() - self._started > self._slice_s:
            await self._clock.sleep(0)
            self._started = self._clock.monotonic()
