"""Requests for certificates that pods make.

A kind of 1.37, which follows the rules that 1.36 has for its beta versions.
"""

import base64
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from quarterdeck.meta import names
from quarterdeck.meta.field import OMITTED, FieldError, invalid, not_supported, required, too_long
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.conditions import validate_conditions
from quarterdeck.server.kinds.fields import get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.pem_blocks import CERTIFICATE, iterate_blocks, load_certificate
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.signer_names import validate_signer
from quarterdeck.server.registry.printer import NAME, NONE, build_column, build_wide_column
from quarterdeck.server.registry.resource import Context, Object

if TYPE_CHECKING:
    from cryptography import x509


_LONGEST_UID = 128
_SHORTEST_S, _LONGEST_S, _LONGEST_OF_KUBERNETES_S = 3600, 91 * 24 * 3600, 24 * 3600
_LARGEST_REQUEST = 10 * 1024
_DECISIONS = ("Issued", "Denied", "Failed")

FieldErrors = Iterator[FieldError]


def _default_request(value: Object) -> None:
    set_defaults(value.setdefault("spec", {}), maxExpirationSeconds=24 * 3600)


def _validate_request(value: Object, context: Context) -> FieldErrors:
    spec = get_mapping(value, "spec")
    signer = spec.get("signerName") or ""
    yield from validate_signer(signer, "spec.signerName")
    for member in ("pod", "serviceAccount", "node"):
        name, uid = spec.get(f"{member}Name") or "", spec.get(f"{member}UID") or ""
        for problem in names.check_dns1123_subdomain(name):
            yield invalid(f"spec.{member}Name", name, problem)
        if not uid:
            yield invalid(f"spec.{member}UID", uid, "must not be empty")
        if len(uid) > _LONGEST_UID:
            yield too_long(f"spec.{member}UID", uid, _LONGEST_UID)
    domain = signer.partition("/")[0]
    is_own = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    most, seconds = _LONGEST_OF_KUBERNETES_S if is_own else _LONGEST_S, spec["maxExpirationSeconds"]
    if not _SHORTEST_S <= seconds <= most:
        text = f"must be in the range [{_SHORTEST_S}, {most}]"
        yield invalid("spec.maxExpirationSeconds", seconds, text)
    yield from _validate_stub(spec.get("stubPKCS10Request") or "")


def _validate_stub(encoded: str) -> FieldErrors:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    path, request = "spec.stubPKCS10Request", base64.b64decode(encoded)
    if len(request) > _LARGEST_REQUEST:
        yield too_long(path, request, _LARGEST_REQUEST)
        return
    try:
        parsed = x509.load_der_x509_csr(request)
        problem = _check_key(parsed)
    except (ValueError, UnsupportedAlgorithm):
        yield invalid(path, OMITTED, "must be a valid PKCS#10 CSR")
        return
    if problem is not None:
        yield invalid(path, *problem)
    elif not parsed.is_signature_valid:
        yield invalid(path, OMITTED, "invalid signature")


def _check_key(request: "x509.CertificateSigningRequest") -> tuple[object, str] | None:
    """Return the value and message of the error for a forbidden key; None for an allowed one."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    key = request.public_key()
    if isinstance(key, ed25519.Ed25519PublicKey):
        return None
    if isinstance(key, ec.EllipticCurvePublicKey):
        if isinstance(key.curve, ec.SECP256R1 | ec.SECP384R1 | ec.SECP521R1):
            return None
        text = "elliptic public keys must use curve P256, P384, or P521"
        return f"curve {key.curve.name}", text
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size in (3072, 4096):
            return None
        return f"{key.key_size}-bit modulus", "RSA keys must have modulus size 3072 or 4096"
    return OMITTED, "unknown public key type; supported types are Ed25519, ECDSA, and RSA"


def _validate_request_change(value: Object, old: Object, context: Context) -> FieldErrors:
    if get_mapping(value, "spec") != get_mapping(old, "spec"):
        shown = format_go_struct(
            "certificates/v1.PodCertificateRequestSpec", get_mapping(value, "spec")
        )
        yield invalid("spec", shown, validators.IMMUTABLE)


def _validate_request_status(value: Object, old: Object, context: Context) -> FieldErrors:
    status, before = get_mapping(value, "status"), get_mapping(old, "status")
    conditions = get_items(status, "conditions")
    problems = [*_validate_decisions(conditions)]
    problems += validate_conditions(conditions, "status.conditions")
    if problems:
        yield from problems
        return
    if _find_decision(before):
        if status != before:
            text = "immutable after PodCertificateRequest is issued, denied, or failed"
            yield invalid("status", OMITTED, text)
    elif _find_decision(status) in ("Denied", "Failed"):
        if any(each for name, each in status.items() if name != "conditions"):
            text = "non-condition status fields must be empty when denying or failing the"
            yield invalid("status", OMITTED, f"{text} PodCertificateRequest")
    elif _find_decision(status):
        yield from _validate_issued(status)
    elif status != before:
        text = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
        yield invalid("status", OMITTED, text)


def _validate_decisions(conditions: Sequence[Object]) -> FieldErrors:
    """Check that a request is decided once, by one of the known conditions."""
    known = 0
    for index, each in enumerate(conditions):
        path, kind = f"status.conditions.[{index}]", each.get("type") or ""
        if kind not in _DECISIONS:
            yield not_supported(f"{path}.type", kind, _DECISIONS)
            continue
        known += 1
        if known > 1:
            text = 'There may be at most one condition with type "Issued", "Denied", or "Failed"'
            yield invalid(f"{path}.type", kind, text)
        if each.get("status") != "True":
            yield not_supported(f"{path}.status", each.get("status") or "", ("True",))


def _find_decision(status: Object) -> str:
    types = [each.get("type") for each in get_items(status, "conditions")]
    return next((kind for kind in _DECISIONS if kind in types), "")


def _validate_issued(status: Object) -> FieldErrors:
    chain, path = status.get("certificateChain") or "", "status.certificateChain"
    blocks = [*iterate_blocks(chain.encode())]
    if not blocks:
        text = "issued certificate chain must contain at least one certificate"
        yield invalid(path, chain, text)
    elif blocks[0].type != CERTIFICATE:
        text = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"
        yield invalid(path, chain, text)
    elif load_certificate(blocks[0]) is None:
        yield invalid(path, chain, "leaf certificate does not parse as valid X.509")
    else:
        consistent = "must be present and consistent with the issued certificate"
        refresh = "must be present and in the range [notbefore+10min, notafter-10min]"
        for member, text in (
            ("notBefore", consistent),
            ("notAfter", consistent),
            ("beginRefreshAt", refresh),
        ):
            if status.get(member) is None:
                yield required(f"status.{member}", text)


def _build_request_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    notes = get_mapping(spec, "unverifiedUserAnnotations")
    return (
        value["metadata"].get("name", ""),
        *(
            spec.get(each) or ""
            for each in ("podName", "serviceAccountName", "nodeName", "signerName")
        ),
        _find_decision(get_mapping(value, "status")) or "Pending",
        ",".join(f"{name}={notes[name]}" for name in sorted(notes)) or NONE,
    )


POD_CERTIFICATE_REQUEST = Rules(
    default=_default_request,
    validate_new=_validate_request,
    validate_change=_validate_request_change,
    validate_status=_validate_request_status,
    selectable={"spec.signerName": "", "spec.podName": "", "spec.nodeName": ""},
    columns=(
        NAME,
        build_column("PodName"),
        build_column("ServiceAccountName"),
        build_column("NodeName"),
        build_column("SignerName"),
        build_column("State"),
        build_wide_column("UnverifiedUserAnnotations"),
    ),
    cells=_build_request_cells,
)
