"""The controllers that flags can name are those that there are."""

import importlib
import pkgutil

from quarterdeck.server.lifecycle import controllers, workloads
from quarterdeck.server.lifecycle.engine.controller_names import CONTROLLER_NAMES
from quarterdeck.server.lifecycle.workloads.replica_sets import REPLICATION_CONTROLLER, ReplicaSets


def test_every_controller_can_be_named() -> None:
    found = {ReplicaSets(REPLICATION_CONTROLLER).name, ReplicaSets().name}
    for package in (controllers, workloads):
        for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(each.name)
            classes = (value for value in vars(module).values() if hasattr(value, "find_keys"))
            found |= {value.name for value in classes if isinstance(getattr(value, "name", 0), str)}
    assert found == CONTROLLER_NAMES
