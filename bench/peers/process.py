"""A server process, and a load generator that costs little itself."""

import socket

from bench.process import Child


class ServerProcess(Child):
    """One of `http_servers`, which tells its processor time to the microsecond."""

    def __init__(self, kind: str, *, loop: str = "asyncio", core: int = 1) -> None:
        super().__init__(["-m", "bench.peers.http_servers", kind, loop], core=core)
        try:
            self.port = int(self.line())
        except ValueError:
            self.close()
            raise RuntimeError(f"the {kind} server did not start") from None

    def cpu_s(self) -> float:
        """The processor time the server has used so far."""
        return float(self.ask())


class Load:
    """Keep-alive connections that send the same request again and again, one at a time each."""

    def __init__(self, port: int, request: bytes, *, connections: int) -> None:
        self._request = request
        self._sockets = [
            socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(connections)
        ]
        for each in self._sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._size = self._first_size()

    def run(self, rounds: int) -> int:
        """Send a request on every connection, read every answer, `rounds` times."""
        request, size, sockets = self._request, self._size, self._sockets
        for _ in range(rounds):
            for each in sockets:
                each.sendall(request)
            for each in sockets:
                missing = size
                while missing > 0:
                    received = len(each.recv(65536))
                    if received == 0:
                        raise ConnectionError("the server closed a connection under load")
                    missing -= received
        return rounds * len(sockets)

    def _first_size(self) -> int:
        """All answers are of one size; the first one tells which."""
        first = self._sockets[0]
        first.sendall(self._request)
        answer = b""
        while True:
            answer += first.recv(65536)
            head, separator, body = answer.partition(b"\r\n\r\n")
            if not separator:
                continue
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"the server answered {head[:40]!r}")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            if len(body) >= length:
                return len(head) + 4 + length

    def close(self) -> None:
        """Close the connections."""
        for each in self._sockets:
            each.close()
