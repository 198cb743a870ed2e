"""Which revision `pipelines rollback` goes back to."""

import pytest

from quarterdeck.apis.fleetmanagement.pipeline_revision import PipelineRevisionSpec
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Pipeline,
    PipelineRevision,
    PipelineSpec,
    PipelineStatus,
)
from quarterdeck.cli.commands.pipelines.rollback import choose_revision
from quarterdeck.cli.exit_codes import CommandError
from quarterdeck.meta.objects import ObjectMeta


def pipeline(**status: str) -> Pipeline:
    return Pipeline(
        metadata=ObjectMeta(name="web"),
        spec=PipelineSpec(contents="x"),
        status=PipelineStatus(**status),  # type: ignore[arg-type]
    )


def revision(identity: str, owner: str = "web") -> PipelineRevision:
    return PipelineRevision(
        metadata=ObjectMeta(name=f"{owner}-{identity}"),
        spec=PipelineRevisionSpec(pipeline=owner, revision_id=identity),
    )


LISTED = [revision(each) for each in ("10", "9", "2")] + [revision("11", "api")]


def test_the_newest_before_the_current_one_is_chosen() -> None:
    assert choose_revision(pipeline(revision_id="10"), LISTED, "") == "9"
    assert choose_revision(pipeline(revision_id="10", rolled_back_to="9"), LISTED, "") == "2"
    assert choose_revision(pipeline(), LISTED, "") == "9"
    assert choose_revision(pipeline(revision_id="10"), LISTED, "2") == "2"


def test_there_is_no_way_back_from_the_first() -> None:
    with pytest.raises(CommandError, match="no revision before 2"):
        choose_revision(pipeline(revision_id="2"), LISTED, "")


@pytest.mark.parametrize("wanted", ["99", "11", "zebra"])
def test_revision_that_does_not_exist_is_refused_with_those_that_do(wanted: str) -> None:
    with pytest.raises(CommandError, match=f"no revision {wanted}; available: 2, 9, 10"):
        choose_revision(pipeline(revision_id="10"), LISTED, wanted)


def test_revision_older_than_the_history_may_be_on_the_server() -> None:
    assert choose_revision(pipeline(revision_id="10"), LISTED, "1") == "1"
    assert choose_revision(pipeline(), [], "7") == "7"
