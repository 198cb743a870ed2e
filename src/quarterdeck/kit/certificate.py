"""Issue X.509 certificates: an authority, what it signs, or a certificate signed by its own key.

`cryptography` is loaded only when something is issued: it costs more start-up time than a server.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_CLOCK_SKEW = timedelta(hours=1)
"""Certificates are valid from a little earlier, for peers whose clock is slow."""


class CertificateRequest(NamedTuple):
    """The contents of a certificate, without its issuer."""

    common_name: str
    lifetime: timedelta
    hosts: tuple[str, ...] = ()
    """DNS names and IP addresses the certificate is valid for."""
    organization: str = ""
    is_authority: bool = False


class Certificate(NamedTuple):
    """An issued certificate and its private key."""

    certificate: "x509.Certificate"
    key: "EllipticCurvePrivateKey"

    def encode_certificate(self) -> bytes:
        """The certificate in PEM."""
        from cryptography.hazmat.primitives.serialization import Encoding

        return self.certificate.public_bytes(Encoding.PEM)

    def encode_key(self) -> bytes:
        """The private key in PEM; keep it secret."""
        return encode_key(self.key)


def issue_certificate(
    request: CertificateRequest, *, now: datetime, issuer: Certificate | None = None
) -> Certificate:
    """Make a key and a certificate for it, signed by `issuer` or else by that key itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    key = generate_key()
    subject = _build_name(request)
    signing_key = key if issuer is None else issuer.key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - _CLOCK_SKEW)
        .not_valid_after(now.astimezone(UTC) + request.lifetime)
    )
    builder = _add_constraints(builder, request, is_self_signed=issuer is None)
    builder = builder.add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
    ).add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False
    )
    if request.hosts:
        builder = builder.add_extension(_build_hosts(request.hosts), critical=False)
    return Certificate(builder.sign(signing_key, hashes.SHA256()), key)


def load_certificate(certificate: bytes, key: bytes) -> Certificate:
    """A certificate and its key from PEM.

    Raises:
        ValueError: if they are not PEM, or the key is not an elliptic-curve key.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    private = load_pem_private_key(key, password=None)
    if not isinstance(private, EllipticCurvePrivateKey):
        raise ValueError("expected an elliptic-curve key")
    return Certificate(x509.load_pem_x509_certificate(certificate), private)


def generate_key() -> "EllipticCurvePrivateKey":
    """A new private key on the curve P-256."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def encode_key(key: "EllipticCurvePrivateKey") -> bytes:
    """A private key in PEM, not encrypted."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _build_name(request: CertificateRequest) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [x509.NameAttribute(NameOID.COMMON_NAME, request.common_name)]
    if request.organization:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, request.organization))
    return x509.Name(parts)


def _add_constraints(
    builder: "x509.CertificateBuilder", request: CertificateRequest, *, is_self_signed: bool
) -> "x509.CertificateBuilder":
    """Add the extensions that say what the key may be used for.

    A self-signed server certificate has no key usage: with one, OpenSSL would not accept it as its
    own issuer, and a client could not trust it.
    """
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    is_authority = request.is_authority
    builder = builder.add_extension(
        x509.BasicConstraints(ca=is_authority, path_length=None), critical=True
    )
    if is_authority or not is_self_signed:
        builder = builder.add_extension(_build_key_usage(is_authority=is_authority), critical=True)
    if is_authority:
        return builder
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)


def _build_key_usage(*, is_authority: bool) -> "x509.KeyUsage":
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _build_hosts(hosts: tuple[str, ...]) -> "x509.SubjectAlternativeName":
    from ipaddress import ip_address

    from cryptography import x509

    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    return x509.SubjectAlternativeName(names)
