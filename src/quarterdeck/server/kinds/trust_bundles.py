"""Bundles of trust anchors, and requests for certificates that pods make.

Kinds of 1.37, which follow the rules that 1.36 has for their beta versions.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from quarterdeck.meta import names
from quarterdeck.meta.field import OMITTED, FieldError, invalid, not_supported, required, too_long
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.conditions import validate_conditions
from quarterdeck.server.kinds.fields import get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import NAME, NONE, build_column, build_wide_column
from quarterdeck.server.registry.resource import Context, Object

if TYPE_CHECKING:
    from cryptography import x509

_HIDDEN = "<value omitted>"
_BLOCK = re.compile(rb"-----BEGIN ([^-\n]+)-----\s(.*?)-----END \1-----", re.DOTALL)
_LARGEST_BUNDLE = 1024 * 1024
_LONGEST_UID = 128
_SHORTEST_S, _LONGEST_S, _LONGEST_OF_KUBERNETES_S = 3600, 91 * 24 * 3600, 24 * 3600
_LARGEST_REQUEST = 10 * 1024
_DECISIONS = ("Issued", "Denied", "Failed")

FieldErrors = Iterator[FieldError]


def validate_signer(text: str, path: str) -> FieldErrors:
    """Check the name of a signer: a domain and a path."""
    if not text:
        yield required(path)
        return
    if text.count("/") != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid(path, text, detail)
        return
    domain, _, rest = text.partition("/")
    if len(domain) > names.SUBDOMAIN_LIMIT:
        yield too_long(path, domain, names.SUBDOMAIN_LIMIT)
    labels = domain.split(".")
    wrong = next((each for each in labels if names.check_dns1123_label(each)), None)
    if wrong is not None:
        for problem in names.check_dns1123_label(wrong):
            yield invalid(path, domain, f'validating label "{wrong}": {problem}')
    if len(labels) < 2:
        detail = "should be a domain with at least two segments separated by dots"
        yield invalid(path, domain, detail)
    wrong = next((each for each in rest.split(".") if names.check_dns1123_subdomain(each)), None)
    if wrong is not None:
        for problem in names.check_dns1123_subdomain(wrong):
            yield invalid(path, rest, f'validating label "{wrong}": {problem}')


# bundles -----------------------------------------------------------------------------------------


def _validate_bundle(value: Object, context: Context) -> FieldErrors:
    signer = get_mapping(value, "spec").get("signerName") or ""
    name = value["metadata"].get("name") or ""
    for problem in _check_name(name, signer):
        yield invalid("metadata.name", name, problem)
    if signer:
        yield from validate_signer(signer, "spec.signerName")


def _check_name(name: str, signer: str) -> list[str]:
    """Check the name of a bundle, which begins with that of its signer."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return names.check_dns1123_subdomain(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        text = f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
        return [text]
    return names.check_dns1123_subdomain(name.removeprefix(prefix))


def _validate_new_bundle(value: Object, context: Context) -> FieldErrors:
    return _validate_anchors(get_mapping(value, "spec").get("trustBundle") or "")


def _validate_bundle_change(value: Object, old: Object, context: Context) -> FieldErrors:
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    if spec.get("trustBundle") != before.get("trustBundle"):
        yield from _validate_anchors(spec.get("trustBundle") or "")
    new, was = spec.get("signerName") or "", before.get("signerName") or ""
    yield from validators.validate_immutable("spec.signerName", new, was)


def _validate_anchors(text: str) -> FieldErrors:
    path = "spec.trustBundle"
    if len(text) > _LARGEST_BUNDLE:
        yield too_long(path, text, _LARGEST_BUNDLE)
        return
    places: dict[bytes, list[int]] = {}
    problems = []
    for index, found in enumerate(_BLOCK.finditer(text.encode())):
        kind, body = found.group(1).decode(), found.group(2)
        if problem := _find_problem(kind, body):
            problems.append(f"entry {index} {problem}")
        else:
            places.setdefault(b"".join(body.split()), []).append(index)
    if not problems and not places:
        problems.append("at least one trust anchor must be provided")
    if not problems:
        twice = [" ".join(map(str, each)) for each in places.values() if len(each) > 1]
        problems = [f"duplicate trust anchor (indices [{each}])" for each in twice]
    yield from (invalid(path, _HIDDEN, problem) for problem in problems)


def _find_problem(kind: str, body: bytes) -> str:
    """What is wrong with one block of a bundle."""
    if kind != "CERTIFICATE":
        return f"has bad block type: {kind}"
    if b":" in body:
        return "has PEM block headers"
    certificate = _load_certificate(body)
    if certificate is None:
        return "does not parse as X.509"
    from cryptography import x509

    try:
        basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (x509.ExtensionNotFound, ValueError):
        return "does not have the CA bit set"
    return "" if basic.ca else "does not have the CA bit set"


def _load_certificate(body: bytes) -> "x509.Certificate | None":
    from cryptography import x509

    try:
        return x509.load_der_x509_certificate(base64.b64decode(body))
    except (ValueError, binascii.Error):
        return None


def _build_bundle_cells(value: Object, now: datetime) -> Sequence[object]:
    signer = get_mapping(value, "spec").get("signerName") or NONE
    return (value["metadata"].get("name", ""), signer)


TRUST_BUNDLE = Rules(
    validate=_validate_bundle,
    validate_new=_validate_new_bundle,
    validate_change=_validate_bundle_change,
    name="path",
    selectable={"spec.signerName": ""},
    columns=(NAME, build_column("SignerName")),
    cells=_build_bundle_cells,
)


# requests ----------------------------------------------------------------------------------------


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
    """What a message shows of a key that is not allowed, and why it is not."""
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
    blocks = [*_BLOCK.finditer(chain.encode())]
    if not blocks:
        text = "issued certificate chain must contain at least one certificate"
        yield invalid(path, chain, text)
    elif blocks[0].group(1) != b"CERTIFICATE":
        text = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"
        yield invalid(path, chain, text)
    elif _load_certificate(blocks[0].group(2)) is None:
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
