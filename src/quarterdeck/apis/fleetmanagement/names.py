"""Names that every kind of the group shares: finalizers, annotations, labels, limits."""

from typing import Literal

GROUP = "fleetmanagement.grafana.com"
VERSION = "v1alpha1"
FINALIZER = "pipeline.fleetmanagement.grafana.com/finalizer"
COLLECTOR_FINALIZER = "collector.fleetmanagement.grafana.com/finalizer"
SET_FINALIZER = "pipelineset.fleetmanagement.grafana.com/finalizer"

DRY_RUN = f"{GROUP}/dry-run"
"""Annotation: with `"true"` a pipeline is only validated."""
FORCE_DELETE = f"{GROUP}/force-delete"
"""Annotation: with `"true"` a deletion does not wait for the server."""
IMPORT_MODE = f"{GROUP}/import-mode"
"""Annotation: `read-only` mirrors a pipeline of the server and never writes it."""
PIPELINE_ID = f"{GROUP}/fleet-pipeline-id"
"""Annotation: the id of the pipeline a read-only object mirrors."""
PROMOTE = f"{GROUP}/promote"
"""Annotation: the candidate of a rollout (`status.rollout.candidate`) to send to everybody now;
`CANDIDATE:STEP` only ends one step."""

PIPELINE_DISCOVERY_NAME = f"{GROUP}/pipeline-discovery-name"
PIPELINE_DISCOVERY_NAMESPACE = f"{GROUP}/pipeline-discovery-namespace"
PIPELINE_DISCOVERED_BY = f"{GROUP}/pipeline-discovered-by"
PIPELINE_STALE = f"{GROUP}/pipeline-discovery-stale"
DISCOVERY_NAME = f"{GROUP}/discovery-name"
DISCOVERY_NAMESPACE = f"{GROUP}/discovery-namespace"
DISCOVERED_BY = f"{GROUP}/discovered-by"
COLLECTOR_ID = f"{GROUP}/fleet-collector-id"
COLLECTOR_STALE = f"{GROUP}/discovery-stale"
PIPELINE_LABEL = f"{GROUP}/pipeline"
"""Label of a PipelineRevision: the Pipeline it belongs to."""

MAX_CONTENTS = 1024 * 1024
MAX_MATCHERS = 100
MAX_MATCHER = 200
DURATION_PATTERN = r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$"

ConfigType = Literal["Alloy", "OpenTelemetryCollector"]
OtelIsolation = Literal["None", "Suffix"]
