"""Other users of this machine on a port without credentials."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.http.local_user import OwnerGuard, is_owned_by

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists users of sockets")
LOOPBACK = b"\x7f\0\0\1"
NOBODY = 65534
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
ROW = "  {n}: {a} {b} 01 00000000:00000000 00:00000000 00000000 {uid} 0 {inode} 1 0 20 4 30 10 -1\n"
GET = (
    "import os, socket, sys\n"
    "if len(sys.argv) > 2: os.setuid(int(sys.argv[2]))\n"
    "peer = socket.socket()\n"
    "peer.connect((b'127.0.0.1', int(sys.argv[1])))\n"
    "peer.sendall(b'GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')\n"
    "print(peer.recv(100).split()[1].decode())\n"
)


async def hello(request: http.Request) -> http.Response:
    return http.Response(200, [], b"hello")


async def ask(guard: OwnerGuard, *, user: int | None = None) -> int:
    """The status that a process of a user gets."""
    async with http.Server(guard.handle) as server:
        listener = await server.listen("127.0.0.1", 0)
        more = [] if user is None else [str(user)]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", GET, str(listener.port), *more, stdout=subprocess.PIPE
        )
        out, _ = await process.communicate()
        return int(out)


@LINUX
async def test_own_user_is_served() -> None:
    assert await ask(OwnerGuard(hello)) == 200


@LINUX
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_other_user_is_refused() -> None:
    assert await ask(OwnerGuard(hello), user=NOBODY) == 403


@LINUX
@pytest.mark.skipif(os.geteuid() == 0, reason="root is always served")
async def test_process_of_another_owner_refuses_us() -> None:
    assert await ask(OwnerGuard(hello, user=os.geteuid() + 1)) == 403


@LINUX
async def test_answer_says_what_to_do(tmp_path: Path) -> None:
    table = tmp_path / "tcp"

    async with http.Server(OwnerGuard(hello, user=1000, tables=(table,)).handle) as server:
        listener = await server.listen("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        port = writer.get_extra_info("sockname")[1]
        table.write_text(HEAD + build_row(port, listener.port, uid=1001))
        for _ in range(2):  # the second time it is remembered
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 403")
            size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            assert b"use the HTTPS port" in await reader.readexactly(size)
            table.unlink(missing_ok=True)
        writer.close()


def build_row(port: int, remote: int, *, uid: int, inode: int = 7) -> str:
    ends = {"a": f"0100007F:{port:04X}", "b": f"0100007F:{remote:04X}"}
    return ROW.format(n=0, uid=uid, inode=inode, **ends)


def check(tmp_path: Path, text: str) -> bool:
    table = tmp_path / "tcp"
    table.write_text(HEAD + text)
    return is_owned_by((LOOPBACK, 5000), (LOOPBACK, 3000), (1000, 0), tables=(table,))


@pytest.mark.skipif(sys.byteorder != "little", reason="the rows are those of a little-endian CPU")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(build_row(5000, 3000, uid=1000), True, id="the owner"),
        pytest.param(build_row(5000, 3000, uid=0), True, id="root"),
        pytest.param(build_row(5000, 3000, uid=1001), False, id="another user"),
        pytest.param(build_row(5000, 3000, uid=0, inode=0), False, id="closed by whomever"),
        pytest.param(build_row(3000, 5000, uid=1000), False, id="the other end is gone"),
        pytest.param(build_row(5000, 3001, uid=1001), True, id="another connection"),
        pytest.param("", True, id="a system that does not tell"),
    ],
)
def test_the_socket_table_decides_who_is_served(tmp_path: Path, text: str, expected: bool) -> None:
    assert check(tmp_path, text) is expected
