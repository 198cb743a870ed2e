"""Events about objects that admission refused."""

from quarterdeck.server.lifecycle.engine.actions import Create, Record
from quarterdeck.server.lifecycle.engine.objects import get_controller
from quarterdeck.wire.status import ApiError


def is_namespace_terminating(error: ApiError) -> bool:
    """Whether a write was refused because its namespace is terminating."""
    causes = error.details.causes if error.details is not None else ()
    return any(cause.reason == "NamespaceTerminating" for cause in causes)


def build_refusal_event(action: Create, error: ApiError) -> Record | None:
    """Build the FailedCreate event for the owner of an object that was refused."""
    metadata = action.value["metadata"]
    owner = get_controller(action.value)
    if owner is None or is_namespace_terminating(error):
        return None
    about = {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "metadata": {
            "name": owner.get("name"),
            "namespace": metadata.get("namespace"),
            "uid": owner.get("uid"),
        },
    }
    return Record(
        about=about,
        reason="FailedCreate",
        message=f"Error creating: {error.message}",
        component=f"{str(owner.get('kind')).lower()}-controller",
        is_warning=True,
    )
