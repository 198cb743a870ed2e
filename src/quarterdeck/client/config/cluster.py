"""Everything needed to reach one API server, resolved and validated."""

import os
from base64 import b64encode
from collections.abc import Mapping

import msgspec

from quarterdeck.kit.percent import quote
from quarterdeck.kit.redaction import Secret

FilePath = str | os.PathLike[str]
"""Names a file; a text where no `Path` was given, since `pathlib` takes long to load."""

_HEADER_SAFE = "!#$&'*+-.^_`|~"
"""What a header's name may hold besides letters and digits; `%` escapes the rest."""
INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")
"""When an exec plugin may ask the user in a terminal."""


def is_token(text: str) -> bool:
    """Whether a bearer token can be sent: others would break out of the header or be cut."""
    return text.isascii() and text.isprintable() and " " not in text


class ExecConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A program that prints credentials."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class PemSource(msgspec.Struct, frozen=True, kw_only=True):
    """A PEM document, in a file or in memory; the file is read again when it changes."""

    data: Secret[bytes] | None = None
    file: FilePath | None = None

    def read(self) -> bytes:
        """The PEM text."""
        if self.data is not None:
            return self.data.reveal()
        if self.file is None:
            return b""
        with open(self.file, "rb") as file:
            return file.read()

    def __bool__(self) -> bool:
        return self.data is not None or self.file is not None


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """The user to impersonate."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}

    def build_headers(self) -> list[tuple[str, str]]:
        """The headers that ask the server for it."""
        found = [("Impersonate-User", self.user)] if self.user else []
        if self.uid:
            found.append(("Impersonate-Uid", self.uid))
        found.extend(("Impersonate-Group", group) for group in self.groups)
        for name, values in self.extra.items():
            header = f"Impersonate-Extra-{quote(name, safe=_HEADER_SAFE)}"
            found.extend((header, value) for value in values)
        return found


class ClusterConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One API server and one identity on it.

    `server` is a URL, with a path if the API is below one. Exactly one kind of credential is
    usual; a client certificate may be combined with a token.
    """

    server: str
    namespace: str = "default"
    name: str = ""

    certificate_authority: PemSource = PemSource()
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""

    client_certificate: PemSource = PemSource()
    client_key: PemSource = PemSource()
    token: Secret[str] | None = None
    token_file: FilePath | None = None
    username: str = ""
    password: Secret[str] | None = None
    exec: ExecConfig | None = None
    impersonate: Impersonation = Impersonation()

    user_agent: str = "quarterdeck"
    timeout_s: float = 32.0
    """How long a request other than a watch may take; a watch may take that long to begin."""
    connections: int = 64
    """The most connections open at once, watches aside."""
    idle_s: float = 30.0
    """How long an unused connection is kept; shorter than servers keep theirs."""
    max_body_bytes: int = 512 * 1024 * 1024
    """The longest answer that is read; clients of untrusted servers set less."""
    requests_per_s: float = 0.0
    """The most requests a second, on average; 0 for no limit, which is best for most."""
    burst: int = 100
    """How many may go out at once where there is a limit."""

    def build_authorization(self) -> str:
        """The Authorization header that the configuration holds itself; empty if it has none."""
        if self.token is not None:
            return f"Bearer {self.token.reveal()}"
        if self.username:
            password = self.password.reveal() if self.password else ""
            pair = b64encode(f"{self.username}:{password}".encode()).decode()
            return f"Basic {pair}"
        return ""
