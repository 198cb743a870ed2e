"""A server of a newer release: a process of its own, since a process is one release."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def serving(release: str, *flags: str) -> AsyncIterator[str]:
    """Run `quarterdeck server` as a release; yields its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "quarterdeck.cli", "server", "--in-memory"),
        *("--port", "0", "--http-port", "0", "--kubernetes-version", release, *flags),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        url = ""
        while line := (await process.stdout.readline()).decode():
            if line.startswith("listening on http://"):
                url = line.split()[-1]
            if line.startswith("ready"):
                break
        yield url
    finally:
        process.terminate()
        await process.communicate()
