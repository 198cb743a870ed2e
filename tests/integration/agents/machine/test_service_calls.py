"""Calls of the bootstrap service whose connection is lost: kept, opened again, or given up."""

import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quarterdeck.agents.machine.service import Denied, Service, Unreachable
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Peer:
    """A server that answers the connections in turn: each has a list of answers, then closes."""

    def __init__(self, folder: Path) -> None:
        issued = issue_certificate(
            CertificateRequest("peer", timedelta(days=1), ("127.0.0.1",)), now=datetime.now(UTC)
        )
        self.bundle = issued.encode_certificate().decode()
        (folder / "peer.pem").write_bytes(issued.encode_certificate() + issued.encode_key())
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(folder / "peer.pem")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections: list[list[bytes]] = []
        self._thread = threading.Thread(target=self._serve)

    def start(self, *connections: list[bytes]) -> Service:
        self.connections = list(connections)
        self._thread.start()
        return Service(self.url, self.bundle)

    def close(self) -> None:
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        for answers in self.connections:
            plain, _ = self._listener.accept()
            with self._tls.wrap_socket(plain, server_side=True) as connection:
                for answer in answers:
                    connection.recv(1 << 16)
                    connection.sendall(answer)


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    running = Peer(tmp_path)
    yield running
    running.close()


def test_connection_is_kept_between_calls(peer: Peer) -> None:
    service = peer.start([OK, OK])
    assert [service.call("GET", "/a"), service.call("GET", "/b")] == [{}, {}]
    service.close()


def test_connection_that_was_closed_at_rest_is_opened_again(peer: Peer) -> None:
    service = peer.start([OK], [OK])
    assert [service.call("GET", "/a"), service.call("GET", "/b")] == [{}, {}]
    service.close()


def test_connection_that_is_lost_twice_is_given_up_until_later(peer: Peer) -> None:
    service = peer.start([OK], [], [OK])
    service.call("GET", "/a")
    with pytest.raises(Unreachable, match="GET /b: "):
        service.call("GET", "/b")
    assert service.call("GET", "/c") == {}
    service.close()


def test_new_connection_that_is_lost_is_not_tried_twice(peer: Peer) -> None:
    service = peer.start([])
    with pytest.raises(Unreachable, match="GET /a: "):
        service.call("GET", "/a")


@pytest.mark.parametrize("body", [b"nothing", b"[1]"], ids=["text", "list"])
def test_answer_that_is_no_object_is_refused(peer: Peer, body: bytes) -> None:
    service = peer.start([b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)])
    with pytest.raises(Denied, match=r"^GET /a: 200$"):
        service.call("GET", "/a")
    service.close()
