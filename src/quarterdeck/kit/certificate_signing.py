"""Sign certificate requests (PKCS #10) of others with an authority.

`cryptography` is loaded only when something is signed.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from quarterdeck.kit.certificate import Certificate

if TYPE_CHECKING:
    from cryptography import x509

_BACKDATE = timedelta(minutes=5)
"""Certificates are valid from a little earlier, for peers whose clock is slow."""
_KEY_USAGES = {
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "data encipherment": "data_encipherment",
    "key agreement": "key_agreement",
}
_PURPOSES = {"client auth": "CLIENT_AUTH", "server auth": "SERVER_AUTH"}


class RequestedName(NamedTuple):
    """The subject of a certificate signing request."""

    common_name: str
    organizations: tuple[str, ...]
    has_hosts: bool
    """Whether it names DNS names or IP addresses."""
    has_other_names: bool
    """Whether it names email addresses or URIs."""


def read_request(request: bytes) -> RequestedName:
    """Read the names in a certificate signing request in PEM.

    Raises:
        ValueError: if it cannot be parsed, or is not signed by its own key.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parsed = _load(request)
    names = {
        oid: tuple(str(each.value) for each in parsed.subject.get_attributes_for_oid(oid))
        for oid in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)
    }
    others = _find_other_names(parsed)
    kinds = {type(each) for each in others or ()}
    return RequestedName(
        "".join(names[NameOID.COMMON_NAME][:1]),
        names[NameOID.ORGANIZATION_NAME],
        has_hosts=bool(kinds & {x509.DNSName, x509.IPAddress}),
        has_other_names=bool(kinds - {x509.DNSName, x509.IPAddress}),
    )


def sign_request(
    request: bytes,
    issuer: Certificate,
    usages: Collection[str],
    *,
    now: datetime,
    lifetime: timedelta,
) -> bytes:
    """The certificate in PEM for a request in PEM; `usages` are Kubernetes' words.

    It never outlives its issuer, and never is an authority itself.

    Raises:
        ValueError: if the request cannot be parsed, or is not signed by its own key.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding

    parsed = _load(request)
    begins = now.astimezone(UTC) - _BACKDATE
    ends = min(begins + lifetime, issuer.certificate.not_valid_after_utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(parsed.subject)
        .issuer_name(issuer.certificate.subject)
        .public_key(parsed.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_build_key_usage(usages), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()),
            critical=False,
        )
    )
    if purposes := _build_purposes(usages):
        builder = builder.add_extension(purposes, critical=False)
    if (names := _find_other_names(parsed)) is not None:
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer.key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _load(request: bytes) -> "x509.CertificateSigningRequest":
    from cryptography import x509

    parsed = x509.load_pem_x509_csr(request)
    if not parsed.is_signature_valid:
        raise ValueError("the signature of the certificate request does not match its public key")
    return parsed


def _find_other_names(
    parsed: "x509.CertificateSigningRequest",
) -> "x509.SubjectAlternativeName | None":
    from cryptography import x509

    try:
        return parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None


def _build_key_usage(usages: Collection[str]) -> "x509.KeyUsage":
    from cryptography import x509

    chosen = {member: usage in usages for usage, member in _KEY_USAGES.items()}
    return x509.KeyUsage(
        **chosen, key_cert_sign=False, crl_sign=False, encipher_only=False, decipher_only=False
    )


def _build_purposes(usages: Collection[str]) -> "x509.ExtendedKeyUsage | None":
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    wanted = [name for usage, name in _PURPOSES.items() if usage in usages]
    if not wanted:
        return None
    return x509.ExtendedKeyUsage([getattr(ExtendedKeyUsageOID, name) for name in wanted])
