"""Credentials of a client: headers and certificates, kept up to date.

A provider returns what is valid now; `refresh` is called once when the server answers 401, so
that rotated tokens, expired exec credentials and renewed files recover without a restart.
"""

import asyncio
import base64
import contextlib
import os
from datetime import datetime, timedelta
from typing import Any, Protocol

import msgspec

from quarterdeck.client.config.cluster import ClusterConfig, ExecConfig, FilePath, is_token
from quarterdeck.client.errors import CredentialError
from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.clock import Clock

_FILE_MAX_AGE_S = 60.0
_EXEC_EARLY = timedelta(seconds=30)
_EXEC_TIMEOUT_S = 60.0


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What to send now: an Authorization header, or a certificate, or nothing."""

    authorization: str = ""
    certificate: bytes = b""
    key: bytes = b""

    def __repr__(self) -> str:
        return "Credentials(***)"


class Provider(Protocol):
    """Gives credentials that are valid now."""

    async def get_credentials(self) -> Credentials:
        """What to send with the next request."""
        ...

    async def refresh(self) -> bool:
        """Get new credentials after the server refused the old ones; False if there are none."""
        ...


def build_provider(config: ClusterConfig, clock: Clock) -> Provider:
    """The provider that a configuration asks for."""
    provider = _build_token_provider(config, clock)
    if config.exec is None and config.client_certificate.file is not None:
        return CertificateFilesProvider(provider, config, clock)
    return provider


def _build_token_provider(config: ClusterConfig, clock: Clock) -> Provider:
    if config.exec is not None:
        return ExecProvider(config.exec, config, clock)
    if config.token_file is not None:
        return TokenFileProvider(config.token_file, clock)
    return StaticProvider(Credentials(authorization=config.build_authorization()))


class StaticProvider:
    """Credentials that never change."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def get_credentials(self) -> Credentials:
        """Always the same."""
        return self._credentials

    async def refresh(self) -> bool:
        """There is nothing newer."""
        return False


class TokenFileProvider:
    """A token in a file that is rotated by others; read again every minute, as client-go does.

    While the file is missing or empty, the last token is sent: it may be valid for long.
    """

    def __init__(self, path: FilePath, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._read_at = float("-inf")
        self._credentials = Credentials()

    async def get_credentials(self) -> Credentials:
        """The token in the file, at most a minute old."""
        if self._clock.monotonic() - self._read_at > _FILE_MAX_AGE_S:
            await self.refresh()
        return self._credentials

    async def refresh(self) -> bool:
        """Read the file now; True if it holds another token.

        Raises:
            CredentialError: there is no token, and there was none before.
        """
        try:
            token = await asyncio.to_thread(self._read)
        except (OSError, ValueError) as error:
            if not self._credentials.authorization:
                reason = getattr(error, "strerror", None) or error
                raise CredentialError(
                    f"cannot read the token file {self._path}: {reason}"
                ) from error
            return False
        fresh = Credentials(authorization=f"Bearer {token}")
        changed = fresh != self._credentials
        self._credentials = fresh
        self._read_at = self._clock.monotonic()
        return changed

    def _read(self) -> str:
        with open(self._path, encoding="utf-8") as file:
            token = file.read().strip()
        if not token:
            raise ValueError("it is empty")
        if not is_token(token):
            raise ValueError("it contains a space, or what no header can have")
        return token


class CertificateFilesProvider:
    """A client certificate in files that are renewed by others, beside a token or alone."""

    def __init__(self, inner: Provider, config: ClusterConfig, clock: Clock) -> None:
        self._inner = inner
        self._config = config
        self._clock = clock
        self._read_at = float("-inf")
        self._pair = (b"", b"")

    async def get_credentials(self) -> Credentials:
        """Credentials of the inner provider, with a certificate read at most a minute ago."""
        if self._clock.monotonic() - self._read_at > _FILE_MAX_AGE_S:
            await self._read()
        found = await self._inner.get_credentials()
        certificate, key = self._pair
        return Credentials(authorization=found.authorization, certificate=certificate, key=key)

    async def refresh(self) -> bool:
        """Read the files now, and refresh the token."""
        before = self._pair
        await self._read()
        return await self._inner.refresh() or self._pair != before

    async def _read(self) -> None:
        config = self._config
        try:
            self._pair = await asyncio.to_thread(
                lambda: (config.client_certificate.read(), config.client_key.read())
            )
        except OSError as error:
            if not self._pair[0]:
                raise CredentialError(f"cannot read {error.filename}: {error.strerror}") from error
        self._read_at = self._clock.monotonic()


def _has_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False


def _read_terminal() -> list[Any] | None:
    """The settings of the terminal; None if they cannot be read."""
    import termios

    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def _restore_terminal(settings: list[Any] | None) -> None:
    """Undo what a killed program could not: it may have asked for a password without an echo."""
    if settings is not None:
        import termios

        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, settings)


class ExecProvider:
    """Runs a credential plugin and keeps its answer until shortly before it expires.

    What the plugin prints on standard error goes to that of this process, as with kubectl: it may
    be the address to log in at.
    """

    def __init__(self, config: ExecConfig, cluster: ClusterConfig, clock: Clock) -> None:
        self._config = config
        self._cluster = cluster
        self._clock = clock
        self._lock = asyncio.Lock()
        self._credentials: Credentials | None = None
        self._expires: datetime | None = None

    async def get_credentials(self) -> Credentials:
        """The plugin's answer, asked again when it is about to expire."""
        async with self._lock:
            if self._credentials is None or self._is_expiring():
                self._credentials = await self._run()
            return self._credentials

    async def refresh(self) -> bool:
        """Ask the plugin again."""
        async with self._lock:
            before, self._credentials = self._credentials, await self._run()
            return self._credentials != before

    def _is_expiring(self) -> bool:
        return self._expires is not None and self._clock.now() + _EXEC_EARLY >= self._expires

    async def _run(self) -> Credentials:
        config = self._config
        is_interactive = self._decide_interactive()
        exec_info = self._exec_info(is_interactive=is_interactive).decode()
        environment = {
            **os.environ,
            **dict(config.env),
            "KUBERNETES_EXEC_INFO": exec_info,
        }
        terminal = _read_terminal() if is_interactive else None
        try:
            process = await asyncio.create_subprocess_exec(
                config.command,
                *config.args,
                env=environment,
                stdin=None if is_interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except FileNotFoundError as error:
            hint = f": {config.install_hint}" if config.install_hint else ""
            raise CredentialError(
                f"the exec plugin {config.command} was not found{hint}"
            ) from error
        except OSError as error:
            raise CredentialError(
                f"the exec plugin {config.command} cannot be started: {error.strerror}"
            ) from error
        try:
            async with asyncio.timeout(None if is_interactive else _EXEC_TIMEOUT_S):
                output, _ = await process.communicate()
        except TimeoutError as error:
            raise CredentialError(
                f"the exec plugin {config.command} took longer than {_EXEC_TIMEOUT_S:.0f} s"
            ) from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
                _restore_terminal(terminal)
        if process.returncode:
            raise CredentialError(
                f"the exec plugin {config.command} failed with exit code {process.returncode}"
            )
        return self._read(output)

    def _decide_interactive(self) -> bool:
        """Whether the plugin may ask the user, which takes a terminal.

        Raises:
            CredentialError: if it must, and there is none.
        """
        mode = self._config.interactive_mode
        if mode != "Never" and _has_terminal():
            return True
        if mode == "Always":
            raise CredentialError(
                f"the exec plugin {self._config.command} needs a terminal (interactiveMode: Always)"
            )
        return False

    def _exec_info(self, *, is_interactive: bool) -> bytes:
        spec: dict[str, object] = {"interactive": is_interactive}
        if self._config.provide_cluster_info:
            cluster: dict[str, object] = {"server": self._cluster.server}
            if authority := self._cluster.certificate_authority.read():
                cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
            spec["cluster"] = cluster
        return json.encode(
            {"apiVersion": self._config.api_version, "kind": "ExecCredential", "spec": spec}
        )

    def _read(self, output: bytes) -> Credentials:
        problem = f"the exec plugin {self._config.command} did not print an ExecCredential"
        try:
            document = json.decode(output)
            status = document["status"]
            expires = status.get("expirationTimestamp")
            self._expires = rfc3339.parse(expires) if expires else None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CredentialError(problem) from error
        token, certificate, key = (
            status.get(each) or "" for each in ("token", "clientCertificateData", "clientKeyData")
        )
        if not all(isinstance(each, str) for each in (token, certificate, key)):
            raise CredentialError(problem)
        if not token and not certificate:
            raise CredentialError(f"{problem} with a token or a certificate")
        if not is_token(token):
            raise CredentialError(
                f"the token of the exec plugin {self._config.command} contains a space, or what no "
                "header can have"
            )
        return Credentials(
            authorization=f"Bearer {token}" if token else "",
            certificate=certificate.encode(),
            key=key.encode(),
        )
