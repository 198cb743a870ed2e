"""How long, how often and how expensive an experiment may be, and what happens afterwards."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from quarterdeck.meta.markers import Int32, Int64, Schema
from quarterdeck.meta.objects import Struct

CleanupPolicy = Literal["Always", "OnSuccess", "Never"]
Provisioning = Literal["Parallel", "Ordered"]
Fallback = Literal["Fail", "Convention"]

DURATION_PATTERN = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
Duration = Annotated[str, Schema(max_length=32, pattern=DURATION_PATTERN)]


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long each stage may take."""

    provisioning: Annotated[str, Schema(default="30m", max_length=32, pattern=DURATION_PATTERN)] = (
        "30m"
    )
    """Until all clusters are ready and registered."""
    applications: Annotated[str, Schema(default="15m", max_length=32, pattern=DURATION_PATTERN)] = (
        "15m"
    )
    """Until all Applications are healthy, counted from the last cluster's registration."""
    workflow: Duration = ""
    """Until the workflow has ended; no limit but the total one if left out."""
    pickup: Annotated[str, Schema(default="5m", max_length=32, pattern=DURATION_PATTERN)] = "5m"
    """Until the workflow controller has started the workflow."""
    cleanup: Annotated[str, Schema(default="30m", max_length=32, pattern=DURATION_PATTERN)] = "30m"
    """Until everything is deleted; afterwards what is left is reported and given up."""


class Retry(Struct, frozen=True, kw_only=True):
    """How often a failed stage is tried again."""

    provisioning: Annotated[Int32, Schema(default=2, minimum=0, maximum=5)] = 2
    """How often a cluster that failed is deleted and created again."""
    workflow: Annotated[Int32, Schema(default=0, minimum=0, maximum=5)] = 0
    """How often a workflow that failed is submitted again."""


class Budget(Struct, frozen=True, kw_only=True):
    """What the clusters may cost."""

    max_usd: Annotated[str, Schema(max_length=16, pattern=r"^[0-9]+(\.[0-9]+)?$")] = msgspec.field(
        name="maxUSD"
    )
    """US dollars, as estimated from machine types; the experiment is stopped when it is spent."""


class PostRun(Struct, frozen=True, kw_only=True):
    """A Job that runs when the results are stored and before the clusters are deleted."""

    image: Annotated[str, Schema(min_length=1, max_length=1024)]
    """Container image."""
    command: Annotated[tuple[str, ...], Schema(max_items=64, list_type="atomic")] = ()
    """Command; that of the image if left out."""
    args: Annotated[tuple[str, ...], Schema(max_items=64, list_type="atomic")] = ()
    """Arguments; ${...} references are replaced."""
    env: Annotated[Mapping[str, str], Schema(max_properties=64)] = {}
    """Environment variables besides EXPERIMENT_NAME, EXPERIMENT_NAMESPACE and RESULTS_URL."""
    service_account_name: Annotated[str, Schema(max_length=253)] = ""
    """Service account of the Job's pod."""
    deadline_seconds: Annotated[Int64, Schema(default=900, minimum=1, maximum=86400)] = 900
    """How long the Job may take."""


class Resolution(Struct, frozen=True, kw_only=True):
    """How names of components are resolved."""

    fallback: Annotated[Fallback, Schema(default="Fail")] = "Fail"
    """What to do if there is no Component of a name: fail, or look for it in a directory of the
    catalog's repository."""
