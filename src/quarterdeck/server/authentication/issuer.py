"""Finds out whether an authority has issued a client certificate.

TLS verifies certificates against all authorities together. A certificate of the front proxy's
authority means something else than one of the clients' authority, so the issuer must be known.
Certificates must be issued by the authority directly, without an intermediate one.
"""

import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509


class Authorities:
    """The certificate authorities in some PEM files."""

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        self.has_issued = functools.lru_cache(maxsize=1024)(self._has_issued)

    @functools.cached_property
    def _certificates(self) -> "list[x509.Certificate]":
        from cryptography import x509

        return [
            each
            for path in self._paths
            for each in x509.load_pem_x509_certificates(path.read_bytes())
        ]

    def _has_issued(self, der: bytes) -> bool:
        """Whether one of the authorities signed a certificate, given in DER."""
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature

        certificate = x509.load_der_x509_certificate(der)
        for authority in self._certificates:
            try:
                certificate.verify_directly_issued_by(authority)
            except (ValueError, TypeError, InvalidSignature):
                continue
            return True
        return False
