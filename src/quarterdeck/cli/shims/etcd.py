"""The `etcd` of envtest: holds the data folder, and answers health checks."""

from pathlib import Path

from quarterdeck.cli.shims.program import run_program

_HELP = """usage: etcd [flags]

The stand-in for etcd that `quarterdeck envtest` writes: the API server beside it keeps its data in
--data-dir. Other flags are accepted and have no effect.

  --data-dir string              Folder of the data.
  --listen-client-urls string    Addresses to listen on, separated by commas.
  --advertise-client-urls string No effect.
  --listen-peer-urls string      No effect.
  --unsafe-no-fsync              No effect: data of tests is never synchronized to the disk."""


async def _start(arguments: list[str]) -> None:
    from quarterdeck.app.envtest.flags import get_flag, list_values, parse_flags
    from quarterdeck.app.envtest.storage import serve_storage

    flags = parse_flags(arguments)
    urls = list_values(flags, "listen-client-urls") or ["http://127.0.0.1:2379"]
    await serve_storage(urls, Path(get_flag(flags, "data-dir", "default.etcd")))


if __name__ == "__main__":
    run_program("etcd", _HELP, _start)
