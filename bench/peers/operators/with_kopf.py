"""kopf as its documentation shows it, without the posting of events."""

import logging
import os
from collections.abc import Mapping
from typing import Any

import kopf

from bench.peers.kind import GROUP, PLURAL, VERSION
from bench.peers.operators import life


def main(kubeconfig: str, settings: Mapping[str, str]) -> None:
    logging.getLogger().setLevel(logging.WARNING)
    os.environ["KUBECONFIG"] = kubeconfig
    kopf.on.startup()(configure)
    kopf.on.login()(kopf.login_with_kubeconfig)
    kopf.on.create(GROUP, VERSION, PLURAL)(reconcile)
    kopf.on.update(GROUP, VERSION, PLURAL, field="spec.size")(reconcile)
    if "webhooks" in settings:
        serve(*settings["webhooks"].split(","))
    life.ready()
    life.run(kopf.operator(clusterwide=True, standalone=True))


def configure(settings: Any, **_: Any) -> None:
    settings.posting.enabled = False


def reconcile(spec: Any, patch: Any, **_: Any) -> None:
    patch.status["seen"] = spec["size"]


def serve(port: str, folder: str) -> None:
    """Its webhook server, at the paths the others have."""
    path = f"{GROUP.replace('.', '-')}-{VERSION}-widget"

    def configure_server(settings: Any, **_: Any) -> None:
        settings.admission.server = kopf.WebhookServer(
            addr="127.0.0.1",
            port=int(port),
            certfile=f"{folder}/tls.crt",
            pkeyfile=f"{folder}/tls.key",
        )

    kopf.on.startup()(configure_server)
    kopf.on.validate(GROUP, VERSION, PLURAL, id=f"validate-{path}")(check)
    kopf.on.mutate(GROUP, VERSION, PLURAL, id=f"mutate-{path}")(fill)


def check(spec: Any, **_: Any) -> None:
    if spec["size"] < 0:
        raise kopf.AdmissionError("spec.size: must not be below 0")


def fill(spec: Any, patch: Any, **_: Any) -> None:
    if not spec.get("mode"):
        patch.spec["mode"] = "safe"
