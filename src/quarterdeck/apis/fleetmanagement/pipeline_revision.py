"""PipelineRevision: one past state of a pipeline on its server, to look at and to go back to."""

from typing import Annotated, Literal

from quarterdeck.apis.fleetmanagement.names import GROUP, MAX_CONTENTS, VERSION
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Schema, Time
from quarterdeck.meta.objects import Object, Struct


class PipelineRevisionSpec(Struct, frozen=True, kw_only=True):
    """A pipeline as it was after one change; written by the operator, never changed."""

    pipeline: Annotated[str, Schema(min_length=1)]
    """The Pipeline it belongs to."""
    revision_id: Annotated[str, Schema(min_length=1)]
    """Identity of the revision on the server."""
    pipeline_id: str = ""
    """Identity of the pipeline on the server."""
    operation: Annotated[
        Literal["Unspecified", "Insert", "Update", "Delete"], Schema(default="Unspecified")
    ] = "Unspecified"
    """What made the revision."""
    created_at: Time = ""
    """When it was made."""
    snapshot_hash: str = ""
    """Hash of the contents."""
    contents: Annotated[str, Schema(max_length=MAX_CONTENTS)] = ""
    """The configuration; left out if it came from a Secret."""
    matchers: tuple[str, ...] = ()
    """Which collectors received it."""
    enabled: bool = True
    """Whether it was delivered."""


class PipelineRevision(Object, frozen=True, kw_only=True):
    """One past state of a pipeline on its server."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="PipelineRevision",
        plural="pipelinerevisions",
        singular="pipelinerevision",
        short_names=("fmprev",),
        subresource_status=False,
        columns=(
            Column(name="Pipeline", path=".spec.pipeline"),
            Column(name="Revision", path=".spec.revisionId"),
            Column(name="Operation", path=".spec.operation"),
            Column(name="Created", type="date", path=".spec.createdAt"),
            Column(name="Hash", path=".spec.snapshotHash", priority=1),
            AGE,
        ),
        selectable=(".spec.pipeline", ".spec.revisionId"),
    )
    spec: PipelineRevisionSpec
    """The pipeline as it was."""
