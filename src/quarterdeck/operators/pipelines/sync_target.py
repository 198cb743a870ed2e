"""The target of one sync: an object, its desired state, and the server."""

from typing import NamedTuple

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.operators.pipelines.desired import Contents, Desired
from quarterdeck.operators.pipelines.fleet_server import Fleet


class SyncTarget(NamedTuple):
    """A Pipeline, what the server should have for it, and the server."""

    pipeline: Pipeline
    desired: Desired
    contents: Contents
    fleet: Fleet
