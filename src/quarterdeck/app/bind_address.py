"""Addresses of health and metrics, and how metrics are protected."""

import ssl

import msgspec

from quarterdeck.app.errors import SettingError
from quarterdeck.app.ports import HOST
from quarterdeck.app.settings import Settings
from quarterdeck.kit.digits import parse_digits
from quarterdeck.runtime.endpoints.certificate import CertificateFiles
from quarterdeck.runtime.endpoints.server import BindAddress, MetricsEndpoint

_ALL_INTERFACES = "0.0.0.0"
_LOOPBACK = (HOST, "::1", "localhost")


def parse_bind(
    address: str, port: int, *, flag: str, all_interfaces: bool = False
) -> BindAddress | None:
    """The address to listen on; None if it is disabled.

    An address is `HOST:PORT`, `:PORT` for all interfaces, or `0` to disable, as in
    controller-runtime. Without an address the port listens on loopback, or on all interfaces if
    `all_interfaces`.

    Raises:
        SettingError: if the address is invalid.
    """
    if not address:
        return BindAddress(_ALL_INTERFACES if all_interfaces else HOST, port)
    if address == "0":
        return None
    host, colon, text = address.rpartition(":")
    number = parse_digits(text)
    if not colon or number is None or number > 65535:
        raise SettingError(f"invalid {flag} {address!r}: give HOST:PORT, :PORT, or 0 to disable")
    return BindAddress(host.strip("[]") or _ALL_INTERFACES, number)


def build_metrics_page(
    bind: BindAddress | None, settings: Settings, *, own: ssl.SSLContext | None = None
) -> MetricsEndpoint | None:
    """How metrics are served; None if they are disabled.

    `own` is the TLS context of the embedded API server, used unless a certificate is set.

    Raises:
        SettingError: if they would be public on an address other than loopback.
    """
    if bind is None:
        return None
    if settings.metrics_insecure:
        if bind.host not in _LOOPBACK:
            raise SettingError(
                f"--metrics-insecure is not allowed on {bind.host}: remove it, or listen on "
                "loopback with --metrics-bind-address 127.0.0.1:PORT"
            )
        return MetricsEndpoint(bind, is_insecure=True)
    if settings.metrics_cert_path is not None:
        files = CertificateFiles.within(settings.metrics_cert_path)
        return MetricsEndpoint(bind, certificate=files)
    return MetricsEndpoint(msgspec.structs.replace(bind, tls=own))
