"""The rules of certificate signing requests."""

from collections.abc import Sequence
from datetime import datetime

from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import AGE, NAME, NONE, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object


def _build_request_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    seconds = spec.get("expirationSeconds")
    types = [each.get("type") for each in get_items(value, "status", "conditions")]
    state = "Approved" if "Approved" in types else "Denied" if "Denied" in types else "Pending"
    issued = ",Issued" if get_field(value, "status", "certificate") else ""
    return (
        value["metadata"].get("name", ""),
        format_creation_age(value, now),
        spec.get("signerName") or NONE,
        spec.get("username") or "",
        NONE if seconds is None else f"{seconds}s",
        state + issued,
    )


def _prepare_request(value: Object, context: Context) -> None:
    """Who asks is what the server found out, not what the request says."""
    spec = value.setdefault("spec", {})
    for member in ("username", "uid", "groups", "extra"):
        spec.pop(member, None)
    if context.user:
        spec["username"] = context.user


CERTIFICATE_REQUEST = Rules(
    prepare_create=_prepare_request,
    selectable={"spec.signerName": ""},
    columns=(
        NAME,
        AGE,
        build_column("SignerName"),
        build_column("Requestor"),
        build_column("RequestedDuration"),
        build_column("Condition"),
    ),
    cells=_build_request_cells,
)
