"""Selection of objects by namespace, name, labels and fields."""

from collections.abc import Callable

import msgspec

from quarterdeck.server.read.options import check_options
from quarterdeck.server.registry.codec import decode_stored
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.resource import Resource
from quarterdeck.server.request.call import Call
from quarterdeck.storage import Entry
from quarterdeck.wire.field_selector import FieldSelector
from quarterdeck.wire.label_selector import Selector, SelectorError
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import BadRequest

_ALWAYS_SELECTABLE = frozenset({"metadata.name", "metadata.namespace"})


class Selection(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The namespace, name and selectors that a request selects objects by."""

    resource: Resource
    namespace: str | None
    """None for all namespaces."""
    name: str | None = None
    """Set if only one object can match."""
    labels: Selector | None = None
    fields: FieldSelector | None = None

    @property
    def is_everything(self) -> bool:
        """Whether every object of the namespace matches, so that entries can be counted."""
        return self.name is None and self.labels is None and self.fields is None

    def matches(self, entry: Entry) -> bool:
        """Whether an entry of the resource and namespace is selected."""
        if self.name is not None and entry.key.name != self.name:
            return False
        if self.labels is not None and not self.labels.matches(get_object_meta(entry).labels or {}):
            return False
        return self.fields is None or self.fields.matches(self._build_field_getter(entry))

    def _build_field_getter(self, entry: Entry) -> Callable[[str], str]:
        if not self.resource.strategy.selectable:
            return {
                "metadata.name": entry.key.name,
                "metadata.namespace": entry.key.namespace,
            }.__getitem__
        values = {
            **self.resource.strategy.get_field_values(decode_stored(self.resource, entry.value)),
            "metadata.name": entry.key.name,
            "metadata.namespace": entry.key.namespace,
        }
        return lambda field: values.get(field, "")


def parse_selectors(options: ListOptions) -> tuple[Selector | None, FieldSelector | None]:
    """Parse the label selector and the field selector of a request.

    Raises:
        BadRequest: with the text of the parser.
    """
    labels = fields = None
    try:
        if options.label_selector:
            labels = Selector.parse(options.label_selector)
        if options.field_selector:
            fields = FieldSelector.parse(options.field_selector)
    except SelectorError as error:
        raise BadRequest(str(error)) from error
    return labels, fields


def check_list_request(options: ListOptions) -> None:
    """Check the options of a list or watch, in Kubernetes' order: selectors come first.

    Raises:
        BadRequest: for a selector that cannot be parsed.
        Invalid: for invalid combinations of options.
    """
    parse_selectors(options)
    check_options(options)


def parse_selection(call: Call, options: ListOptions) -> Selection:
    """Parse and check the selectors and options of a request.

    Raises:
        BadRequest: for a selector that cannot be parsed, or a field that is not selectable.
        Invalid: for invalid combinations of options.
    """
    resource = call.resource
    labels, fields = parse_selectors(options)
    check_options(options)
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


_NAMES_KIND_IN_ERRORS = frozenset({"resource.k8s.io"})
"""Groups for which the error about an unsupported field selector names the kind."""


def _check_fields(resource: Resource, fields: FieldSelector) -> None:
    selectable = resource.strategy.selectable
    common = _ALWAYS_SELECTABLE
    if selectable and not resource.namespaced and not resource.is_custom:
        common -= {"metadata.namespace"}  # these kinds list their fields, without this one
    for each in fields.requirements:
        if each.field in common or each.field in selectable:
            continue
        if resource.is_custom or selectable:
            where = ""
            if resource.gvr.group in _NAMES_KIND_IN_ERRORS:
                where = f" for {resource.api_version}, Kind={resource.kind}"
            raise BadRequest(f"field label not supported{where}: {each.field}")
        raise BadRequest(
            f'"{each.field}" is not a known field selector: only "metadata.name",'
            ' "metadata.namespace"'
        )
