"""Bundles of trust anchors.

A kind of 1.37, which follows the rules that 1.36 has for its beta versions.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid, too_long
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.kinds.pem_blocks import (
    CERTIFICATE,
    PemBlock,
    iterate_blocks,
    load_certificate,
)
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.signer_names import validate_signer
from quarterdeck.server.registry.printer import NAME, NONE, build_column
from quarterdeck.server.registry.resource import Context, Object

_HIDDEN = "<value omitted>"
_LARGEST_BUNDLE = 1024 * 1024

FieldErrors = Iterator[FieldError]


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
    for index, block in enumerate(iterate_blocks(text.encode())):
        if problem := _find_problem(block):
            problems.append(f"entry {index} {problem}")
        else:
            places.setdefault(b"".join(block.body.split()), []).append(index)
    if not problems and not places:
        problems.append("at least one trust anchor must be provided")
    if not problems:
        twice = [" ".join(map(str, each)) for each in places.values() if len(each) > 1]
        problems = [f"duplicate trust anchor (indices [{each}])" for each in twice]
    yield from (invalid(path, _HIDDEN, problem) for problem in problems)


def _find_problem(block: PemBlock) -> str:
    """What is wrong with one block of a bundle."""
    if block.type != CERTIFICATE:
        return f"has bad block type: {block.type}"
    if b":" in block.body:
        return "has PEM block headers"
    certificate = load_certificate(block)
    if certificate is None:
        return "does not parse as X.509"
    from cryptography import x509

    try:
        basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (x509.ExtensionNotFound, ValueError):
        return "does not have the CA bit set"
    return "" if basic.ca else "does not have the CA bit set"


def _build_bundle_cells(value: Object, now: datetime) -> Sequence[object]:
    signer = get_mapping(value, "spec").get("signerName") or NONE
    return (value["metadata"].get("name", ""), signer)


CLUSTER_TRUST_BUNDLE = Rules(
    validate=_validate_bundle,
    validate_new=_validate_new_bundle,
    validate_change=_validate_bundle_change,
    name="path",
    selectable={"spec.signerName": ""},
    columns=(NAME, build_column("SignerName")),
    cells=_build_bundle_cells,
)
