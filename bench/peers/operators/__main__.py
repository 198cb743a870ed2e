"""`python -m bench.peers.operators ROLE [--SETTING=VALUE …] KUBECONFIG`."""

import importlib
import sys

_MODULES = {"quarterdeck": "ours", "kopf": "with_kopf", "informer": "with_informer"}


def main() -> None:
    role, *flags, kubeconfig = sys.argv[1:]
    settings = dict(flag.removeprefix("--").partition("=")[::2] for flag in flags)
    importlib.import_module(f"bench.peers.operators.{_MODULES[role]}").main(kubeconfig, settings)


if __name__ == "__main__":
    main()
