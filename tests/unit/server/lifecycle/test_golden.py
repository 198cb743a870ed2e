"""Plans, as pairs of files: what is there, and what is to be done.

`QUARTERDECK_UPDATE=1` writes the outputs anew; read the difference before you commit it.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quarterdeck.kit import rfc3339, yaml
from quarterdeck.server.lifecycle.controllers import (
    endpoints,
    garbage_collector,
    namespace_termination,
    pod_termination,
    role_aggregation,
)
from quarterdeck.server.lifecycle.engine.controller import Controller
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads import (
    cron_jobs,
    daemon_sets,
    deployments,
    disruption_budgets,
    jobs,
    kubelet,
    replica_sets,
    scheduler,
    stateful_sets,
    volume_claims,
)
from quarterdeck.storage import StoreKey

FOLDER = Path(__file__).parents[3] / "golden" / "lifecycle"
CONTROLLERS: dict[str, Callable[[], Controller]] = {
    "collector": garbage_collector.GarbageCollector,
    "namespaces": namespace_termination.NamespaceTermination,
    "endpoints": endpoints.ServiceEndpoints,
    "pod_end": pod_termination.PodTermination,
    "roles": role_aggregation.RoleAggregation,
    "claims": volume_claims.VolumeClaims,
    "cronjobs": cron_jobs.CronJobs,
    "daemonsets": daemon_sets.DaemonSets,
    "deployments": deployments.Deployments,
    "disruption": disruption_budgets.DisruptionBudgets,
    "jobs": jobs.Jobs,
    "kubelet": kubelet.Kubelet,
    "replicasets": replica_sets.ReplicaSets,
    "scheduler": scheduler.Scheduler,
    "statefulsets": stateful_sets.StatefulSets,
}
INPUTS = sorted(FOLDER.glob("*.input.yaml"))


def test_the_golden_files_are_found() -> None:
    assert len(INPUTS) >= 20


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name.removesuffix(".input.yaml"))
def test_plan_is_the_golden_one(path: Path, look: Callable[..., View]) -> None:
    given: Any = yaml.load(path.read_text())
    view = look(given["objects"], rfc3339.parse(given["now"]))
    controller = CONTROLLERS[given["controller"]]()
    key = StoreKey(*given["key"])
    plan = [
        {type(action).__name__: _plain(action, given["objects"])}
        for action in controller.plan(view, key)
    ]
    output = path.with_name(path.name.replace(".input.", ".output."))
    if os.environ.get("QUARTERDECK_UPDATE"):
        output.write_text(yaml.dump(plan))
    assert plan == yaml.load(output.read_text())


def _plain(action: Any, objects: list[dict[str, Any]]) -> dict[str, Any]:
    """An action as data; of an updated object only what changed."""
    plain: dict[str, Any] = msgspec.to_builtins(action)
    for member in ("key", "resource"):
        if isinstance(plain.get(member), dict):
            plain[member] = "/".join(filter(None, plain[member].values()))
    if "about" in plain:
        plain["about"] = f"{plain['about']['kind']}/{plain['about']['metadata']['name']}"
    if "revision" in plain and "value" in plain:
        before = next(
            each
            for each in objects
            if each["metadata"]["name"] == plain["value"]["metadata"]["name"]
            and each["kind"] == plain["value"]["kind"]
        )
        plain["value"] = _changed(before, plain["value"])
    return {name: each for name, each in plain.items() if each not in ("", None, False)}


def _changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name in [*before, *(each for each in after if each not in before)]:
        old, new = before.get(name), after.get(name)
        if old == new or name == "resourceVersion":
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            result[name] = _changed(old, new)
        else:
            result[name] = new
    return {name: each for name, each in result.items() if each != {}}
