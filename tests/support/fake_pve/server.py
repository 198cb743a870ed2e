"""Listening, credentials, and answers that go wrong on demand."""

import contextlib
import hashlib
import http.server
import json
import re
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fake_pve.routes import ROUTES, Call
from fake_pve.state import Refusal, State
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate

TOKEN_ID, TOKEN = "hf@pve!op", "11111111-2222-3333-4444-555555555555"
USERNAME, PASSWORD = "hf@pve", "correct horse"


@dataclass
class Fault:
    """What happens to requests that match `METHOD /path`, a few times."""

    pattern: str
    status: int = 0
    """The answer; 0 cuts the connection instead."""
    reason: str = ""
    times: int = 1
    is_after: bool = False
    """The request takes effect first."""


class FakePve:
    """A running fake; use it as a context manager."""

    def __init__(self, folder: Path, state: State | None = None) -> None:
        self.state = state or State()
        self.lock = threading.Lock()
        self.faults: list[Fault] = []
        self.journal: list[str] = []
        """`METHOD /path` of every request."""
        self.tickets: set[str] = set()
        self.logins = 0
        self._folder = folder
        request = CertificateRequest(
            "fake-pve", timedelta(days=1), hosts=("127.0.0.1", "localhost")
        )
        issued = issue_certificate(request, now=datetime.now(UTC))
        self.certificate = issued.encode_certificate().decode()
        (folder / "certificate.pem").write_text(self.certificate)
        (folder / "key.pem").write_bytes(issued.encode_key())
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
        self._server.socket = tls.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def endpoint(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def certificate_path(self) -> str:
        return str(self._folder / "certificate.pem")

    @property
    def fingerprint(self) -> str:
        der = ssl.PEM_cert_to_DER_cert(self.certificate)
        digest = hashlib.sha256(der).hexdigest().upper()
        return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))

    @contextlib.contextmanager
    def running(self) -> Iterator["FakePve"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def finish_tasks(self) -> None:
        """Let everything end that is under way."""
        with self.lock:
            for task in list(self.state.tasks.values()):
                self.state.end(task)

    def count(self, pattern: str) -> int:
        """How many requests matched."""
        return sum(re.search(pattern, entry) is not None for entry in self.journal)

    def take_fault(self, entry: str, *, is_after: bool) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and fault.is_after == is_after and re.search(fault.pattern, entry):
                fault.times -= 1
                return fault
        return None


def _handler(fake: FakePve) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.fake = fake
    return Handler


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakePve
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # a client that does not trust us is gone
            super().handle()

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = parts.path.removeprefix("/api2/json")
        entry = f"{self.command} {path}"
        with self.fake.lock:
            self.fake.journal.append(unquote(entry))
            fault = self.fake.take_fault(entry, is_after=False)
            try:
                if fault is None:
                    answer = self._act(path, parts.query, body)
                    fault = self.fake.take_fault(entry, is_after=True)
            except Refusal as refusal:
                self._refuse(refusal)
                return
        if fault is None:
            self._answer(200, "OK", {"data": answer})
        elif fault.status:
            self._refuse(Refusal(fault.status, fault.reason))
        else:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def _act(self, path: str, query: str, body: bytes) -> Any:
        fields, files = self._read_fields(query, body)
        if path == "/access/ticket":
            return self._log_in(fields)
        self._authenticate()
        for method, pattern, handler in ROUTES:
            match = pattern.fullmatch(path)
            if match is not None and method == self.command:
                groups = tuple(unquote(each) for each in match.groups())
                return handler(Call(self.fake.state, groups, fields, files))
        raise Refusal(501, f"Method '{self.command} {path}' not implemented")

    def _read_fields(self, query: str, body: bytes) -> tuple[dict[str, str], dict[str, bytes]]:
        fields = dict(parse_qsl(query, keep_blank_values=True))
        kind = self.headers.get("content-type") or ""
        if kind.startswith("multipart/form-data"):
            return _read_multipart(kind.partition("boundary=")[2].strip('"'), body)
        if kind.startswith("application/x-www-form-urlencoded"):
            fields |= dict(parse_qsl(body.decode(), keep_blank_values=True))
        return fields, {}

    def _log_in(self, fields: dict[str, str]) -> Any:
        if (fields.get("username"), fields.get("password")) != (USERNAME, PASSWORD):
            raise Refusal(401, "authentication failure")
        self.fake.logins += 1
        ticket = f"PVE:{USERNAME}:{self.fake.logins:08X}::secret"
        self.fake.tickets.add(ticket)
        return {"ticket": ticket, "CSRFPreventionToken": f"csrf-{ticket}", "username": USERNAME}

    def _authenticate(self) -> None:
        if (token := self.headers.get("authorization")) is not None:
            if token != f"PVEAPIToken={TOKEN_ID}={TOKEN}":
                raise Refusal(401, "invalid token value!")
            return
        cookie = unquote((self.headers.get("cookie") or "").removeprefix("PVEAuthCookie="))
        if cookie not in self.fake.tickets:
            raise Refusal(401, "permission denied - invalid PVE ticket")
        proof = self.headers.get("csrfpreventiontoken")
        if self.command != "GET" and proof != f"csrf-{cookie}":
            raise Refusal(401, "Permission denied - invalid csrf token")

    def _refuse(self, refusal: Refusal) -> None:
        found: dict[str, Any] = {"data": None}
        if refusal.errors:
            found["errors"] = refusal.errors
        self._answer(refusal.status, refusal.reason, found)

    def _answer(self, status: int, reason: str, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(status, reason)
        self.send_header("content-type", "application/json;charset=UTF-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _read_multipart(mark: str, body: bytes) -> tuple[dict[str, str], dict[str, bytes]]:
    fields: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for part in body.split(f"--{mark}".encode())[1:-1]:
        head, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        text, data = head.decode(), data.removesuffix(b"\r\n")
        name = re.search(r'\bname="([^"]*)"', text)
        file = re.search(r'\bfilename="([^"]*)"', text)
        if name is None:
            raise Refusal(400, "a part of the upload has no name")
        if file is not None:
            files[file[1]] = data
        else:
            fields[name[1]] = data.decode()
    return fields, files
