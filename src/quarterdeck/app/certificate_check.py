"""Checks of the certificates that a start would use, for `quarterdeck doctor`."""

import ssl
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.authentication.certificate import CertificateError, parse_validity

NEAR = timedelta(days=30)
"""A certificate that expires within this time is reported."""


class CheckedCertificate(NamedTuple):
    """A certificate that cannot be used or expires soon."""

    path: Path
    text: str
    is_expired: bool = True
    """Whether it cannot be used: expired, not valid yet, or not a certificate."""


def check_certificates(paths: Iterable[Path], now: datetime) -> Iterator[CheckedCertificate]:
    """Find certificates that are unreadable, expired, not valid yet, or expire soon."""
    for path in paths:
        try:
            der = ssl.PEM_cert_to_DER_cert(_take_first(path.read_text(encoding="ascii")))
            begins, ends = parse_validity(der)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, CertificateError):
            yield CheckedCertificate(path, f"{path} is not a readable PEM certificate")
            continue
        if now >= ends:
            yield CheckedCertificate(path, f"{path} expired at {format_time(ends)}")
        elif now < begins:
            text = f"{path} is not valid before {format_time(begins)}; check the clock"
            yield CheckedCertificate(path, text)
        elif now > ends - NEAR:
            yield CheckedCertificate(
                path, f"{path} expires at {format_time(ends)}", is_expired=False
            )


def _take_first(text: str) -> str:
    """The first certificate of a chain: the server's own."""
    end = "-----END CERTIFICATE-----"
    return text.partition(end)[0].strip() + f"\n{end}\n"
