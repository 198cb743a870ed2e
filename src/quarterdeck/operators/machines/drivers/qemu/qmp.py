"""The QEMU Machine Protocol: one command, one answer, over a Unix socket."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from quarterdeck.operators.machines.drivers.qemu.command import QMP_SOCKET
from quarterdeck.operators.machines.errors import Code, make_error

_TIMEOUT_S = 10.0
_LONGEST_LINE = 1 << 20


class Gone(Exception):
    """Raised when QEMU cannot be reached at its socket, because its process has ended."""


async def execute(folder: Path, command: str, arguments: Mapping[str, object] | None = None) -> Any:
    """Send one command to the VM in a folder; returns its answer; None if QEMU ends without one.

    Raises:
        Gone: if the process has ended.
        TransientError: TIMEOUT if it does not answer, CONFLICT if it refuses.
    """
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            return await _converse(folder, command, arguments)
    except TimeoutError:
        text = f"QEMU in {folder} did not answer {command} within {_TIMEOUT_S:.0f} s"
        raise make_error(Code.TIMEOUT, text) from None
    except OSError as error:
        raise Gone from error


async def _converse(folder: Path, command: str, arguments: Mapping[str, object] | None) -> Any:
    # the path of a socket has at most 107 bytes; through the descriptor any folder can be reached
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        reader, writer = await asyncio.open_unix_connection(
            f"/proc/self/fd/{descriptor}/{QMP_SOCKET}", limit=_LONGEST_LINE
        )
    finally:
        os.close(descriptor)
    try:
        await _read(reader, "QMP")
        await _execute(reader, writer, "qmp_capabilities", None)
        return await _execute(reader, writer, command, arguments)
    finally:
        writer.close()
        try:
            await writer.wait_closed()
        except OSError:
            pass  # the process is ending, which may be what was asked for


async def _execute(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    command: str,
    arguments: Mapping[str, object] | None,
) -> Any:
    message: dict[str, object] = {"execute": command}
    if arguments:
        message["arguments"] = arguments
    writer.write(msgspec.json.encode(message) + b"\n")
    await writer.drain()
    return await _read(reader, "return")


async def _read(reader: asyncio.StreamReader, key: str) -> Any:
    """Read until a message with `key` or an error arrives; events are skipped."""
    while line := await reader.readline():
        message = msgspec.json.decode(line)
        if key in message:
            return message[key]
        if "error" in message:
            raise make_error(Code.CONFLICT, f"QEMU refused: {message['error'].get('desc', '')}")
    return None
