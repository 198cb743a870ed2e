"""The certificate authority of machines: a root, and an intermediate that is replaced in time.

Certificates are short-lived and name a machine by its SPIFFE id, never by a common name. Peers
trust the root alone: machines send the intermediate along, so that it can be replaced at any time.
"""

from datetime import datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ROOT_LIFETIME = timedelta(days=3650)
INTERMEDIATE_LIFETIME = timedelta(hours=24)
MAX_LIFETIME = timedelta(hours=1)
_BACKDATED = timedelta(seconds=30)
"""How far certificates are backdated, for machines whose clock is slow."""


class InvalidRequest(Exception):
    """Raised when a certificate request cannot be signed; the text is for the audit log."""


class Keypair(msgspec.Struct, frozen=True):
    """A certificate and its private key, in PEM."""

    certificate: bytes
    key: bytes


class AuthorityState(msgspec.Struct, frozen=True, kw_only=True):
    """The stored state of an authority: its root and the current intermediate."""

    root: Keypair
    current: Keypair


class Issued(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate for a machine."""

    certificate: bytes
    chain: tuple[bytes, ...]
    serial: str
    not_after: datetime
    renew_after: datetime


def create_authority(trust_domain: str, now: datetime) -> AuthorityState:
    """Create a root and its first intermediate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _build_name(f"{trust_domain} root")
    root = _build(name, name, key.public_key(), now=now, lifetime=ROOT_LIFETIME, path_length=1)
    signed = root.sign(key, hashes.SHA256())
    pair = Keypair(_encode(signed), _encode_key(key))
    return AuthorityState(root=pair, current=_issue_intermediate(pair, trust_domain, now))


def rotate_authority(state: AuthorityState, trust_domain: str, now: datetime) -> AuthorityState:
    """Replace the intermediate if half of its lifetime is over, else return the same state.

    One that is not valid yet is replaced too: it was made while the clock was ahead.
    """
    certificate = x509.load_pem_x509_certificate(state.current.certificate)
    if certificate.not_valid_before_utc <= now < _find_middle(certificate):
        return state
    current = _issue_intermediate(state.root, trust_domain, now)
    return AuthorityState(root=state.root, current=current)


def build_bundle(state: AuthorityState) -> tuple[bytes, ...]:
    """The certificates that peers trust: the root alone."""
    return (state.root.certificate,)


def issue_identity(
    state: AuthorityState, request: bytes, spiffe_id: str, *, now: datetime, lifetime: timedelta
) -> Issued:
    """Sign the key of a certificate request; nothing else of the request is used.

    Raises:
        InvalidRequest: if it is malformed, is not signed by its key, or the key is not P-256.
    """
    key = parse_request(request)
    signer_certificate = x509.load_pem_x509_certificate(state.current.certificate)
    signer = load_pem_private_key(state.current.key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    not_after = min(now + min(lifetime, MAX_LIFETIME), signer_certificate.not_valid_after_utc)
    builder = _start(x509.Name([]), signer_certificate.subject, key, now=now, not_after=not_after)
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    certificate = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_build_key_usage(is_authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([x509.UniformResourceIdentifier(spiffe_id)]),
            critical=True,  # the subject is empty, so this is the name
        )
        .add_extension(_build_key_identifier(signer_certificate), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return Issued(
        certificate=_encode(certificate),
        chain=(state.current.certificate,),
        serial=f"{certificate.serial_number:x}",
        not_after=not_after,
        renew_after=now + (not_after - now) / 2,
    )


def parse_request(request: bytes) -> ec.EllipticCurvePublicKey:
    """Read the key of a certificate request.

    Raises:
        InvalidRequest: if it is malformed, is not signed by its key, or the key is not P-256.
    """
    try:
        parsed = x509.load_pem_x509_csr(request)
    except ValueError as error:
        raise InvalidRequest("the certificate request is not PEM of PKCS #10") from error
    if not parsed.is_signature_valid:
        raise InvalidRequest("the certificate request is not signed by its own key")
    key = parsed.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise InvalidRequest("the key of the certificate request is not on the curve P-256")
    return key


def read_spiffe_id(certificate: bytes) -> str:
    """The identity in a machine's certificate (DER); empty if there is none."""
    try:
        parsed = x509.load_der_x509_certificate(certificate)
        names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return ""
    found = names.get_values_for_type(x509.UniformResourceIdentifier)
    return found[0] if len(found) == 1 and found[0].startswith("spiffe://") else ""


def _issue_intermediate(root: Keypair, trust_domain: str, now: datetime) -> Keypair:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(root.certificate)
    signer = load_pem_private_key(root.key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    builder = _build(
        _build_name(f"{trust_domain} machines"),
        issuer.subject,
        key.public_key(),
        now=now,
        lifetime=INTERMEDIATE_LIFETIME,
        path_length=0,
    ).add_extension(_build_key_identifier(issuer), critical=False)
    return Keypair(_encode(builder.sign(signer, hashes.SHA256())), _encode_key(key))


def _build(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    *,
    now: datetime,
    lifetime: timedelta,
    path_length: int,
) -> x509.CertificateBuilder:
    builder = _start(subject, issuer, key, now=now, not_after=now + lifetime)
    constraints = x509.BasicConstraints(ca=True, path_length=path_length)
    return (
        builder.add_extension(constraints, critical=True)
        .add_extension(_build_key_usage(is_authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _start(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    *,
    now: datetime,
    not_after: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(not_after)
    )


def _build_key_identifier(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Build the authority key identifier, which strict clients require."""
    key = issuer.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)


def _build_key_usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _build_name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _find_middle(certificate: x509.Certificate) -> datetime:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return start + (end - start) / 2


def _encode(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
