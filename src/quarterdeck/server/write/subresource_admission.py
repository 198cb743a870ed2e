"""Admission of what is posted to a subresource and never stored: evictions, bindings, tokens."""

from quarterdeck.meta.identity import GVK
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.core import Core
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.write.result import WriteOptions
from quarterdeck.wire.status import InternalError


class PostedView:
    """The posted object is what webhooks and policies see: it has no other form."""

    def __init__(self, kind: GVK) -> None:
        self.kind = kind

    def show(self, value: Object) -> Object:
        """The posted object itself."""
        return value

    def restore(self, value: Object, shown: Object) -> Object:
        """The object as it was changed.

        Raises:
            InternalError: if it is of another kind now.
        """
        if any(shown.get(name) != value.get(name) for name in ("apiVersion", "kind")):
            raise InternalError.of(
                f"the patch must not change apiVersion or kind of the {self.kind.kind}"
            )
        return shown


async def admit_posted(
    core: Core, call: Call, value: Object, write_options: WriteOptions, *, kind: GVK
) -> Object:
    """Let admission see and change what is posted to a subresource of an object.

    Raises:
        ApiError: if it is refused.
    """
    admission = core.admission
    attributes = AdmissionAttributes(
        verb="create",
        resource=call.resource,
        namespace=call.path.namespace,
        name=call.path.name,
        user=call.user,
        subresource=write_options.subresource,
        value={**value, "apiVersion": kind.api_version, "kind": kind.kind},
        options=write_options.sent,
        view=PostedView(kind),
        is_dry_run=write_options.is_dry_run,
        warnings=call.warnings,
        audit_annotations=call.audit_annotations,
    )
    if (pending := admission.admit_all(attributes)) is not None:
        await pending
    if (pending := admission.validate_all(attributes)) is not None:
        await pending
    return attributes.value or value
