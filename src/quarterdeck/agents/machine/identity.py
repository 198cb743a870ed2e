"""The machine's key and certificate: files in a folder that does not survive a reboot."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from quarterdeck.agents.machine.programs import run

_OPENSSL_SETTINGS = "[req]\ndistinguished_name = name\n[name]\n"


class Identity:
    """Key, certificate request and certificate; `openssl` makes the first two."""

    def __init__(self, folder: Path) -> None:
        folder = folder.resolve()  # programs run inside it
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.key = folder / "key.pem"
        self.chain = folder / "chain.pem"
        self._state = folder / "credentials.json"

    def ensure_request(self) -> str:
        """The certificate request; uses an existing key, so that a lost answer is repeated.

        The key of a renewal that was not answered is dropped: the certificate is for this one.
        """
        self._next.unlink(missing_ok=True)
        if not self.key.exists():
            self._make_key(self.key)
        return self._request(self.key)

    def start_renewal(self) -> str:
        """A request for a new key, which replaces the old one in `store`."""
        self._make_key(self._next)
        return self._request(self._next)

    def store(self, credentials: dict[str, Any]) -> None:
        """Store a certificate, and the new key if a renewal was started."""
        if self._next.exists():
            os.replace(self._next, self.key)
        chain = credentials["certificate"] + "".join(credentials["chain"])
        _write(self.chain, chain)
        times = {name: credentials[name] for name in ("notAfter", "renewAfter", "spiffeId")}
        _write(self._state, json.dumps(times))

    def read_times(self) -> tuple[datetime, datetime] | None:
        """When to renew, and when the certificate expires; None without a certificate."""
        try:
            state = json.loads(self._state.read_text())
            return _parse(state["renewAfter"]), _parse(state["notAfter"])
        except (OSError, ValueError, KeyError):
            return None

    @property
    def _next(self) -> Path:
        return self.folder / "next-key.pem"

    def _make_key(self, path: Path) -> None:
        """Create a key file atomically, so that a killed agent leaves no incomplete one."""
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        parameters = ("-name", "prime256v1", "-genkey", "-noout")
        run("openssl", "ecparam", *parameters, "-out", str(fresh), folder=self.folder)
        os.replace(fresh, path)

    def _request(self, key: Path) -> str:
        """Create a request with our own settings, because small images have no openssl.cnf."""
        settings = self.folder / "openssl.cnf"
        _write(settings, _OPENSSL_SETTINGS)
        made = run(
            *("openssl", "req", "-new", "-sha256", "-subj", "/", "-key", str(key)),
            *("-config", str(settings)),
            folder=self.folder,
        )
        return made.decode()


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.replace(fresh, path)


def _parse(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
