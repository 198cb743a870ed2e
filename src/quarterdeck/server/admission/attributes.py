"""The attributes of a write, as admission plugins get them."""

from typing import Protocol

import msgspec

from quarterdeck.meta.identity import GVK
from quarterdeck.server.admission.reinvocation import Reinvocation
from quarterdeck.server.authentication.user import User
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.wire.status import Forbidden


class View(Protocol):
    """Converts an object to the kind that a subresource has, such as Scale, and back."""

    kind: GVK

    def to_subresource(self, value: Object) -> Object:
        """Return the object as the kind of the subresource."""
        ...

    def from_subresource(self, value: Object, shown: Object) -> Object:
        """Return the object with the changes that were made to `shown`.

        Raises:
            ApiError: if `shown` cannot be converted back.
        """
        ...


class AdmissionAttributes(msgspec.Struct, kw_only=True, eq=False, weakref=True):
    """The attributes of a write that admission decides on."""

    verb: str
    resource: Resource
    namespace: str
    name: str
    user: User
    subresource: str = ""
    value: Object | None = None
    old: Object | None = None
    options: msgspec.Struct | None = None
    """The options of the request, such as CreateOptions or DeleteOptions, if any."""
    is_dry_run: bool = False
    has_waited: bool = False
    """Whether other writes could happen since `admit` began, because something was awaited."""
    warnings: list[str] = []
    audit_annotations: dict[str, str] = {}
    """Annotations that plugins add to the audit event of the request."""
    view: View | None = None
    """Set for a subresource of another kind: converts the object for webhooks and policies."""
    reinvocation: Reinvocation = msgspec.field(default_factory=Reinvocation)
    """Which webhooks and policies were called, and which must be called again after a change."""


def is_creation(attributes: AdmissionAttributes, resource: str) -> bool:
    """Whether a write creates an object of a built-in resource."""
    return (
        attributes.verb == "create"
        and not attributes.subresource
        and attributes.resource.gvr.group_resource == resource
        and attributes.value is not None
    )


def is_update(attributes: AdmissionAttributes, resource: str) -> bool:
    """Whether a write changes an object of a built-in resource, not through a subresource."""
    return (
        attributes.verb == "update"
        and not attributes.subresource
        and attributes.resource.gvr.group_resource == resource
        and attributes.value is not None
    )


def build_forbidden(attributes: AdmissionAttributes, why: str) -> Forbidden:
    """Build a 403 for the object that was to be written."""
    gvr = attributes.resource.gvr
    return Forbidden.of(gvr.resource, attributes.name or "Unknown", why, group=gvr.group)


def is_resize(attributes: AdmissionAttributes) -> bool:
    """Whether a write changes the resources of a pod in place."""
    is_pod = attributes.resource.gvr.group_resource == "pods"
    return is_pod and (attributes.subresource, attributes.verb) == ("resize", "update")
