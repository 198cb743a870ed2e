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
    life.ready()
    life.run(kopf.operator(clusterwide=True, standalone=True))


def configure(settings: Any, **_: Any) -> None:
    settings.posting.enabled = False


def reconcile(spec: Any, patch: Any, **_: Any) -> None:
    patch.status["seen"] = spec["size"]
