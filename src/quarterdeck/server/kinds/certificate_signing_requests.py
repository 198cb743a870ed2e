"""Certificate signing requests: validation, and the times of conditions."""

import base64
import binascii
from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.field import Bare, FieldError, invalid, not_supported, required
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.signer_names import validate_signer
from quarterdeck.server.registry.printer import AGE, NAME, NONE, build_column, format_creation_age
from quarterdeck.server.registry.resource import STATUS, Context, Object

_USAGES = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign"),
    *("data encipherment", "decipher only", "digital signature", "email protection"),
    *("encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement"),
    *("key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)
_MIN_SECONDS = 600
_BEGIN = b"-----BEGIN CERTIFICATE REQUEST-----"


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
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


def _validate(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    yield from _validate_request(str(spec.get("request") or ""))
    usages = spec.get("usages") or []
    if not usages:
        yield required("spec.usages")
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            yield not_supported(f"spec.usages[{index}]", usage, _USAGES)
    yield from validate_signer(str(spec.get("signerName") or ""), "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_SECONDS:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        yield invalid("spec.expirationSeconds", seconds, text)


def _validate_request(encoded: str) -> Iterator[FieldError]:
    try:
        request = base64.b64decode(encoded)
    except binascii.Error:
        request = b""
    shown = Bare("[]byte{" + ", ".join(f"{each:#x}" for each in request) + "}")
    if _BEGIN not in request:
        yield invalid("spec.request", shown, "PEM block type must be CERTIFICATE REQUEST")
        return
    from cryptography import x509

    try:
        x509.load_pem_x509_csr(request)
    except ValueError as error:
        yield invalid("spec.request", shown, str(error))


def _prepare_update(value: Object, old: Object, context: Context) -> None:
    """Keep the spec; note when a decision was written."""
    value["spec"] = old.get("spec") or {}
    if not context.subresource:
        return
    status = value.setdefault("status", {})
    previous = {each.get("type"): each for each in get_items(old, "status", "conditions")}
    now = format_time(context.now)
    for condition in status.get("conditions") or ():
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            before = previous.get(condition.get("type")) or {}
            is_same = before.get("status") == condition.get("status")
            known = before.get("lastTransitionTime") if is_same else None
            condition["lastTransitionTime"] = known or now
    if context.subresource == STATUS:
        kept = [each for each in previous.values() if each.get("type") in ("Approved", "Denied")]
        others = [
            each
            for each in status.get("conditions") or ()
            if each.get("type") not in ("Approved", "Denied")
        ]
        if kept or others:
            status["conditions"] = [*kept, *others]
    elif "certificate" in get_mapping(old, "status"):
        status["certificate"] = old["status"]["certificate"]
    else:
        status.pop("certificate", None)


CERTIFICATE_SIGNING_REQUEST = Rules(
    prepare_update=_prepare_update,
    validate_new=_validate,
    selectable={"spec.signerName": ""},
    columns=(
        NAME,
        AGE,
        build_column("SignerName"),
        build_column("Requestor"),
        build_column("RequestedDuration"),
        build_column("Condition"),
    ),
    cells=_build_cells,
)
