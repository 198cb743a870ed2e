"""One wish: which object wants what on which server. Handed from step to step."""

from typing import NamedTuple

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.operators.pipelines.desired import Contents, Desired
from quarterdeck.operators.pipelines.fleets import Fleet


class Wish(NamedTuple):
    """What is to be on which server, and for whom."""

    pipeline: Pipeline
    desired: Desired
    contents: Contents
    fleet: Fleet
