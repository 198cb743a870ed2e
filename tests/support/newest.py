"""A server of a newer release: a process of its own, since a process is one release."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from measured import PYTHON

from quarterdeck.meta import release


@contextlib.contextmanager
def being(name: str) -> Iterator[None]:
    """Be a release in this process; tables of kinds that were read stay those they are."""
    before = release.get_release()
    release.set_release(name)
    try:
        yield
    finally:
        release.set_release(before)


@contextlib.asynccontextmanager
async def serving(name: str, *flags: str) -> AsyncIterator[str]:
    """Run `quarterdeck server` as a release; yields its address."""
    process = await asyncio.create_subprocess_exec(
        *(*PYTHON, "-m", "quarterdeck.cli", "server", "--in-memory"),
        *("--port", "0", "--http-port", "0", "--kubernetes-version", name, *flags),
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
