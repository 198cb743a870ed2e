"""Authentication of an embedded server: CAs of client certificates, and static tokens."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from quarterdeck.app.errors import StartError
from quarterdeck.server.authentication.authenticator import Authenticator
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authentication.x509 import ClientCertificates


class Identities(msgspec.Struct, frozen=True, kw_only=True):
    """Files for authentication, as kube-apiserver's flags of the same names."""

    client_ca_file: Path | None = None
    """CA certificates that verify clients, besides the server's own CA."""
    token_auth_file: Path | None = None
    """Static tokens: lines of `token,user,uid,"group1,group2"`."""
    requestheader_client_ca_file: Path | None = None
    """CA certificates of proxies whose `X-Remote-*` headers are trusted."""
    requestheader_allowed_names: tuple[str, ...] = ()
    """Common names of these proxies; empty allows every certificate of the CAs."""
    tokens: Mapping[str, User] = {}
    """Further static tokens, of this process."""

    def list_authorities(self) -> list[Path]:
        """The files whose certificates TLS must accept.

        Raises:
            StartError: if one cannot be read.
        """
        files = {
            "--client-ca-file": self.client_ca_file,
            "--requestheader-client-ca-file": self.requestheader_client_ca_file,
        }
        found = []
        for flag, path in files.items():
            if path is None:
                continue
            if not path.is_file():
                raise StartError(f"cannot read {path} ({flag}): no such file")
            found.append(path)
        return found

    def build_authenticators(self, own_authority: Path) -> tuple[Authenticator, ...]:
        """The authenticators in the order they are asked.

        Raises:
            StartError: if the token file cannot be used.
        """
        tokens = BearerTokens({**self._read_tokens(), **self.tokens})
        if self.requestheader_client_ca_file is None:
            return (ClientCertificates(), tokens, PlainPort())
        from quarterdeck.server.authentication.front_proxy import FrontProxy
        from quarterdeck.server.authentication.issuer import Authorities

        proxies = Authorities(self.requestheader_client_ca_file)
        own = [own_authority, *([self.client_ca_file] if self.client_ca_file else [])]
        return (
            FrontProxy(proxies, self.requestheader_allowed_names),
            ClientCertificates(Authorities(*own)),
            tokens,
            PlainPort(),
        )

    def _read_tokens(self) -> dict[str, User]:
        if self.token_auth_file is None:
            return {}
        from quarterdeck.server.authentication.token_file import TokenFileError, read_token_file

        try:
            return read_token_file(self.token_auth_file)
        except TokenFileError as error:
            raise StartError(f"{error} (--token-auth-file)") from error
