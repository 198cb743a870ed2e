"""Admission of objects that are posted to a subresource and not stored, such as evictions."""

from quarterdeck.meta.identity import GVK
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.core import Core
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.write.result import WriteOptions
from quarterdeck.wire.status import InternalError


class PostedView:
    """Passes the posted object to webhooks and policies unchanged."""

    def __init__(self, kind: GVK) -> None:
        self.kind = kind

    def to_subresource(self, value: Object) -> Object:
        """Return the posted object."""
        return value

    def from_subresource(self, value: Object, shown: Object) -> Object:
        """Return the changed object.

        Raises:
            InternalError: if its kind or apiVersion changed.
        """
        if any(shown.get(name) != value.get(name) for name in ("apiVersion", "kind")):
            raise InternalError.of(
                f"the patch must not change apiVersion or kind of the {self.kind.kind}"
            )
        return shown


class PostedAdmission:
    """Admission of a posted object in two steps: `admit` may change it, `validate` refuse it."""

    def __init__(self, core: Core, call: Call, write_options: WriteOptions, *, kind: GVK) -> None:
        self._admission = core.admission
        self._kind = kind
        self._attributes = AdmissionAttributes(
            verb="create",
            resource=call.resource,
            namespace=call.path.namespace,
            name=call.path.name,
            user=call.user,
            subresource=write_options.subresource,
            options=write_options.sent,
            view=PostedView(kind),
            is_dry_run=write_options.is_dry_run,
            warnings=call.warnings,
            audit_annotations=call.audit_annotations,
        )

    async def admit(self, value: Object) -> Object:
        """Run mutating admission; returns the posted object with its changes.

        Raises:
            ApiError: if it is refused.
        """
        self._show(value)
        if (pending := self._admission.admit_all(self._attributes)) is not None:
            await pending
        return self._attributes.value or value

    async def validate(self, value: Object) -> None:
        """Run validating admission, after the handler has validated the object.

        Raises:
            ApiError: if it is refused.
        """
        self._show(value)
        if (pending := self._admission.validate_all(self._attributes)) is not None:
            await pending

    def _show(self, value: Object) -> None:
        named = {"apiVersion": self._kind.api_version, "kind": self._kind.kind}
        self._attributes.value = {**value, **named}


async def admit_posted(
    core: Core, call: Call, value: Object, write_options: WriteOptions, *, kind: GVK
) -> Object:
    """Run mutating and then validating admission for an object posted to a subresource.

    Raises:
        ApiError: if it is refused.
    """
    admission = PostedAdmission(core, call, write_options, kind=kind)
    value = await admission.admit(value)
    await admission.validate(value)
    return value
