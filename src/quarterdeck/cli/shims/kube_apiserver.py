"""The `kube-apiserver` of envtest: our API server behind the flags of the real one."""

import os
import sys
from pathlib import Path
from time import monotonic

from quarterdeck.cli.shims.program import run_program

_HELP = """usage: kube-apiserver [flags]

The API server of Quarterdeck behind the flags of kube-apiserver, as `quarterdeck envtest` writes
it. These flags have an effect, the others are accepted:

"""


async def _start(arguments: list[str]) -> None:
    from quarterdeck.app.api_server import serve
    from quarterdeck.app.envtest.flags import list_values, parse_flags
    from quarterdeck.app.envtest.settings import build_settings, find_unknown
    from quarterdeck.app.envtest.storage import find_data_dir

    started = monotonic()
    flags = parse_flags(arguments)
    if unknown := find_unknown(flags):
        names = ", ".join(f"--{name}" for name in unknown)
        print(f"kube-apiserver: flags without effect here: {names}", file=sys.stderr)
    data_dir = await find_data_dir(list_values(flags, "etcd-servers"))
    pki = Path(os.environ.get("QUARTERDECK_ENVTEST") or ".") / "pki"
    settings = build_settings(flags, data_dir=data_dir, pki=pki)
    await serve(settings, print_line=_print_line, started=started)


def _print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _build_help() -> str:
    from quarterdeck.app.envtest.flags import HONORED

    return _HELP + "\n".join(f"      --{name}" for name in HONORED)


if __name__ == "__main__":
    wants_help = "--help" in sys.argv or "-h" in sys.argv
    run_program("kube-apiserver", _build_help() if wants_help else "", _start)
