"""The summary that `quarterdeck up` prints when everything is ready."""

import sys
from collections.abc import Sequence
from pathlib import Path

import quarterdeck
from quarterdeck.app.console import Console, Started, find_program
from quarterdeck.app.embedded import Embedded
from quarterdeck.app.host import Endpoint, Host
from quarterdeck.app.parts import Part


def print_summary(
    host: Host, server: Embedded, parts: Sequence[Part], *, console: Console, took_s: float
) -> None:
    """Print where everything listens, and what to try first."""
    manager, settings = host.manager, host.settings
    endpoints = list(host.endpoints)
    if manager.health_url:
        endpoints.append(
            Endpoint("health", manager.health_url, "health, and /explain for `quarterdeck why`")
        )
    if manager.metrics_url:
        endpoints.append(Endpoint("metrics", manager.metrics_url, "metrics, with a bearer token"))
    data = "in memory, nothing is stored" if settings.in_memory else str(settings.data_dir)
    facade = next((each.url for each in endpoints if each.name == "applications"), "")
    command = find_program(sys.argv[0], folder=Path.cwd(), home=Path.home())
    console.print_started(
        Started(
            version=quarterdeck.__version__,
            took_s=took_s,
            endpoints=endpoints,
            operators=[part.name for part in parts],
            kubeconfig=server.kubeconfig.resolve(),
            data=data,
            commands=[
                # --demo has applied them
                *(
                    []
                    if settings.demo
                    else [f"{command} manifests --samples | kubectl apply --server-side -f -"]
                ),
                _suggest_command(parts),
                *([f"curl -N {facade}/watch"] if facade else ["kubectl get events -w"]),
            ],
        )
    )


def _suggest_command(parts: Sequence[Part]) -> str:
    """A command that shows objects of the running operators."""
    names = {part.name for part in parts}
    if "applications" not in names and "machines" in names:
        return "kubectl get hyperfleet"
    return "kubectl get applications,deployments,pods"
