"""The listener's certificate, which is loaded again before a handshake if its files changed.

If the new certificate and key cannot be used, the previous ones stay in use.
"""

import ssl
from typing import Any

from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.services.ingester.options import TlsFiles

_log = get_logger("services.ingester.tls")


def build_credentials(files: TlsFiles) -> Any:
    """Credentials of a gRPC server.

    Raises:
        OSError: if a file cannot be read.
        ValueError: if certificate and key do not fit.
    """
    import grpc

    watched = _Files(files)
    return grpc.dynamic_ssl_server_credentials(
        watched.load(),
        watched.find_change,
        require_client_authentication=files.client_authority is not None,
    )


class _Files:
    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._seen = self._read_state()

    def load(self) -> Any:
        """The configuration of the files as they are now."""
        import grpc

        files = self._files
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key)
        except ssl.SSLError as error:
            raise ValueError(
                f"{files.certificate} and {files.key} are not a certificate and its key: {error}"
            ) from error
        pair = (files.key.read_bytes(), files.certificate.read_bytes())
        authority = files.client_authority
        roots = authority.read_bytes() if authority is not None else None
        return grpc.ssl_server_certificate_configuration([pair], root_certificates=roots)

    def find_change(self) -> Any:
        """A new configuration if the files changed; called by gRPC before each handshake."""
        try:
            state = self._read_state()
            if state == self._seen:
                return None
            loaded = self.load()
        except (OSError, ValueError) as error:
            _log.warning("cannot load the new certificate; serving the old one", reason=str(error))
            return None
        self._seen = state
        return loaded

    def _read_state(self) -> list[tuple[int, int, int]]:
        given = (self._files.certificate, self._files.key, self._files.client_authority)
        found = [path.stat() for path in given if path is not None]
        return [(each.st_mtime_ns, each.st_size, each.st_ino) for each in found]
