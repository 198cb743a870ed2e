"""Which TPMs are trusted: certificates of endorsement keys, or a list of their hashes.

The certificates have a critical extension that general verifiers refuse (a name of the TPM instead
of a host), so the path is built here: each certificate signed by the next, up to a root that is
configured.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from quarterdeck.attest.errors import MalformedStructure, UntrustedKey
from quarterdeck.attest.public_area import PublicArea, PublicKey

_EK_USAGE = x509.ObjectIdentifier("2.23.133.8.1")
_MAX_PATH = 6
_UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What the library raises for certificates that it cannot read or does not support."""


class EndorsementPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Trust anchors: roots and intermediates of TPM makers, and single keys by hash."""

    roots: tuple[x509.Certificate, ...] = ()
    intermediates: tuple[x509.Certificate, ...] = ()
    hashes: frozenset[str] = frozenset()
    """SHA-256 of the public keys of TPMs without a certificate, in hexadecimal digits."""
    requires_certificate: bool = False


def hash_key(key: PublicKey) -> str:
    """The identity of an endorsement key: SHA-256 of its PKIX form."""
    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(encoded).hexdigest()


def check_endorsement(
    policy: EndorsementPolicy, area: PublicArea, certificate: bytes | None, *, now: datetime
) -> str:
    """Accept an endorsement key; its hash.

    Raises:
        MalformedStructure: if the certificate cannot be read.
        UntrustedKey: if its certificate is not trusted, or it has none and is not listed.
    """
    identity = hash_key(area.key)
    if certificate is not None:
        parsed = _parse(certificate)
        if hash_key(_get_public_key(parsed)) != identity:
            raise UntrustedKey(
                "the endorsement certificate does not belong to the endorsement key of the TPM"
            )
        verify_path(policy, parsed, now=now)
        return identity
    if policy.requires_certificate:
        raise UntrustedKey("the TPM has no endorsement certificate, but the policy requires one")
    if identity not in policy.hashes:
        raise UntrustedKey(f"endorsement key {identity} is not in the list of known TPMs")
    return identity


def verify_path(policy: EndorsementPolicy, leaf: x509.Certificate, *, now: datetime) -> None:
    """Find a path from a certificate to a root.

    Raises:
        UntrustedKey: if there is none, or the certificate is not for an endorsement key.
    """
    _check_leaf(leaf)
    current = leaf
    for _ in range(_MAX_PATH):
        _check_validity(current, now)
        root = _find_issuer(current, policy.roots)
        if root is not None:
            _check_validity(root, now)
            return
        issuer = _find_issuer(current, policy.intermediates)
        if issuer is None:
            break
        current = issuer
    raise UntrustedKey(
        "the endorsement certificate does not chain to a trusted root: its issuer is"
        f" {leaf.issuer.rfc4514_string()!r}"
    )


def _find_issuer(
    certificate: x509.Certificate, candidates: Sequence[x509.Certificate]
) -> x509.Certificate | None:
    for candidate in candidates:
        if not _is_authority(candidate):
            continue
        try:
            certificate.verify_directly_issued_by(candidate)
        except (*_UNREADABLE, InvalidSignature):
            continue
        return candidate
    return None


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return False
    return constraints.value.ca


def _check_leaf(leaf: x509.Certificate) -> None:
    if _is_authority(leaf):
        raise UntrustedKey(
            "the endorsement certificate is a CA certificate; expected the certificate of a key"
        )
    try:
        usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except x509.ExtensionNotFound:
        return  # older makers leave it out
    if _EK_USAGE not in usage.value:
        raise UntrustedKey("the certificate lacks the extended key usage of an endorsement key")


def _check_validity(certificate: x509.Certificate, now: datetime) -> None:
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        subject = certificate.subject.rfc4514_string()
        raise UntrustedKey(f"the certificate of {subject!r} has expired or is not valid yet")


def _parse(certificate: bytes) -> x509.Certificate:
    """Read DER; makers pad the storage of the TPM behind it.

    The library parses names, extensions and the key when they are first used, so each is used here.
    """
    try:
        parsed = x509.load_der_x509_certificate(_strip_padding(certificate))
        _ = parsed.subject, parsed.issuer, parsed.extensions, parsed.public_key()
    except _UNREADABLE as error:
        raise MalformedStructure(
            f"the endorsement certificate cannot be parsed: {error}"
        ) from error
    return parsed


def _strip_padding(data: bytes) -> bytes:
    if len(data) > 4 and data[0] == 0x30 and data[1] == 0x82:
        return data[: 4 + int.from_bytes(data[2:4], "big")]
    return data


def _get_public_key(certificate: x509.Certificate) -> PublicKey:
    key = certificate.public_key()
    if not isinstance(key, PublicKey):
        raise UntrustedKey(f"endorsement keys of type {type(key).__name__} are not supported")
    return key
