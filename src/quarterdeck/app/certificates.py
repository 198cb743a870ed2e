"""The certificates of one server: an authority of its own, the server's, the administrator's.

Made once and kept beside the data, keys readable by their owner only. The library for it is loaded
only when something has to be made, because it costs more start-up time than the whole server.
"""

import base64
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_NAMES = ("authority", "server", "administrator")
_LIFE = timedelta(days=3650)
_DNS_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_ADDRESSES = ("127.0.0.1", "::1")


class Certificates(msgspec.Struct, frozen=True, kw_only=True):
    """Where the certificates and keys of a server are."""

    folder: Path

    def certificate(self, name: str) -> Path:
        """The certificate of `authority`, `server` or `administrator`."""
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """The private key of the same."""
        return self.folder / f"{name}.key"

    @property
    def signing_key(self) -> Path:
        """The key that signs the tokens of service accounts; it has no certificate."""
        return self.key("service-accounts")

    def encoded(self, path: Path) -> str:
        """A file as kubeconfigs embed it."""
        return base64.b64encode(path.read_bytes()).decode()

    def server_context(self) -> ssl.SSLContext:
        """TLS for the listener; client certificates of our authority are asked for."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate("server"), self.key("server"))
        context.load_verify_locations(self.certificate("authority"))
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        return context


def ensure(folder: Path, now: datetime) -> Certificates:
    """The certificates in a folder, made now if they are not all there."""
    found = Certificates(folder=folder)
    files = [path for name in _NAMES for path in (found.certificate(name), found.key(name))]
    if not all(path.is_file() for path in files):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(found, now)
    if not found.signing_key.is_file():
        make_key(found.signing_key)
    return found


def make_key(path: Path) -> None:
    """Make a private key in a file that only its owner reads."""
    from cryptography.hazmat.primitives.asymmetric import ec

    _write_key(path, ec.generate_private_key(ec.SECP256R1()))


def _make(target: Certificates, now: datetime) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in _NAMES}
    authority = _name("quarterdeck-ca")
    certificates = {
        "authority": _sign(authority, keys["authority"], authority, keys["authority"], now=now),
        "server": _sign(
            _name("quarterdeck"), keys["server"], authority, keys["authority"], now=now
        ),
        "administrator": _sign(
            _name("kubernetes-admin", organization="system:masters"),
            keys["administrator"],
            authority,
            keys["authority"],
            now=now,
        ),
    }
    assert isinstance(certificates["server"], x509.Certificate)
    for name in _NAMES:
        _write_key(target.key(name), keys[name])
        _write(target.certificate(name), _pem(certificates[name]), 0o644)


def _name(common_name: str, organization: str = "") -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _sign(
    subject: "x509.Name",
    key: "EllipticCurvePrivateKey",
    issuer: "x509.Name",
    issuer_key: "EllipticCurvePrivateKey",
    *,
    now: datetime,
) -> "x509.Certificate":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    is_authority = subject == issuer
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - timedelta(hours=1))
        .not_valid_after(now.astimezone(UTC) + _LIFE)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(_usage(is_authority=is_authority), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if not is_authority:
        builder = builder.add_extension(_purposes(), critical=False)
        builder = builder.add_extension(_alternatives(), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _usage(*, is_authority: bool) -> "x509.KeyUsage":
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


def _purposes() -> "x509.ExtendedKeyUsage":
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    return x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])


def _alternatives() -> "x509.SubjectAlternativeName":
    from ipaddress import ip_address

    from cryptography import x509

    names: list[x509.GeneralName] = [x509.DNSName(name) for name in _DNS_NAMES]
    names += [x509.IPAddress(ip_address(address)) for address in _ADDRESSES]
    return x509.SubjectAlternativeName(names)


def _pem(certificate: "x509.Certificate") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _write_key(path: Path, key: "EllipticCurvePrivateKey") -> None:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    data = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    _write(path, data, 0o600)


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write whole or not at all: half a key would be taken for one at the next start."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    unfinished.replace(path)
