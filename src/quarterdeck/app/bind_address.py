"""Where health and metrics listen, and how metrics are protected."""

import ssl

from quarterdeck.app.embedded import HOST
from quarterdeck.app.resolution import SettingError
from quarterdeck.app.settings import Settings
from quarterdeck.runtime.endpoints.certificate import CertificateFiles
from quarterdeck.runtime.endpoints.server import BindAddress, MetricsPage

_EVERYWHERE = "0.0.0.0"
_LOOPBACK = (HOST, "::1", "localhost")


def bind_of(address: str, port: int, *, flag: str, everywhere: bool = False) -> BindAddress | None:
    """The address in force; None where it is switched off.

    An address is `HOST:PORT`, `:PORT` for all interfaces, or `0` for off, as controller-runtime
    has it. Without one the port listens on loopback, or on all interfaces if `everywhere`.

    Raises:
        SettingError: if the address is none.
    """
    if not address:
        return BindAddress(_EVERYWHERE if everywhere else HOST, port)
    if address == "0":
        return None
    host, colon, number = address.rpartition(":")
    if not colon or not number.isdigit() or int(number) > 65535:
        raise SettingError(f"{flag} is {address!r}: it must be HOST:PORT, :PORT, or 0 for off")
    return BindAddress(host.strip("[]") or _EVERYWHERE, int(number))


def metrics_page(
    bind: BindAddress | None, settings: Settings, *, own: ssl.SSLContext | None = None
) -> MetricsPage | None:
    """How metrics are served; None where they are switched off.

    `own` is the TLS of a server of ours that runs beside, used unless a certificate is named.

    Raises:
        SettingError: if they were to be served to everybody off loopback.
    """
    if bind is None:
        return None
    if settings.metrics_insecure:
        if bind.host not in _LOOPBACK:
            raise SettingError(
                f"--metrics-insecure serves on loopback only, not on {bind.host}: "
                "leave it out, or set --metrics-bind-address 127.0.0.1:PORT"
            )
        return MetricsPage(bind, is_insecure=True)
    if settings.metrics_cert_path is not None:
        files = CertificateFiles.within(settings.metrics_cert_path)
        return MetricsPage(bind, certificate=files)
    return MetricsPage(bind._replace(tls=own))
