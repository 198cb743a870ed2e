"""The plan: which call follows from what is desired, known and remembered."""

from typing import Any

import pytest

from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Pipeline,
    PipelineSource,
    PipelineSpec,
    PipelineStatus,
)
from quarterdeck.meta.conditions import Condition
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.pipelines import plan
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import (
    GRAFANA,
    Contents,
    Desired,
    build_desired,
    find_problems,
    is_ours,
)
from quarterdeck.operators.pipelines.drift import find_differences, format_preview
from quarterdeck.operators.pipelines.ports import Remote

CONTENTS = 'prometheus.scrape "x" {\n  targets = []\n}\n'
URL = "https://fleet.example.com"
UNKNOWN = plan.Known()


def pipeline(name: str = "web", *, created: str = "2026-01-01T00:00:00Z", **more: Any) -> Pipeline:
    status = more.pop("status", PipelineStatus())
    return Pipeline(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=f"uid-{name}",
            generation=more.pop("generation", 1),
            creation_timestamp=created,
        ),
        spec=PipelineSpec(**{"contents": CONTENTS, "matchers": ("env=prod",), **more}),
        status=status,
    )


def desire(obj: Pipeline) -> Desired:
    return build_desired(obj, Contents(obj.spec.contents), url=URL)


def remote_of(obj: Pipeline, identity: str = "7", **changes: Any) -> Remote:
    desired = desire(obj)
    found = Remote(
        id=identity,
        name=desired.name,
        contents=desired.contents,
        matchers=desired.matchers,
        enabled=desired.enabled,
        config_type=desired.config_type,
        owner=desired.owner,
    )
    return found._replace(**changes)


def status_of(obj: Pipeline, *, synced: bool = True, reason: str = "Synced") -> PipelineStatus:
    said = Condition(
        type="Synced",
        status="True" if synced else "False",
        reason=reason,
        message="said before",
        observed_generation=1,
    )
    desired = desire(obj)
    return PipelineStatus(id="7", name=desired.name, applied_hash=desired.hash, conditions=(said,))


def decided(obj: Pipeline, known: plan.Known = UNKNOWN) -> plan.Action:
    return plan.decide(obj, desire(obj), known)


def test_what_is_new_is_created() -> None:
    assert decided(pipeline()) == plan.Create()


def test_what_is_synced_is_left_alone() -> None:
    assert decided(pipeline(status=status_of(pipeline()))) == plan.Nothing()


@pytest.mark.parametrize("reason", ["SyncFailed", "RateLimited", "AuthFailed", "Suspended"])
def test_a_failed_outcome_is_tried_again_although_nothing_changed(reason: str) -> None:
    status = status_of(pipeline(), synced=False, reason=reason)
    assert decided(pipeline(status=status)) == plan.Update("7")


def test_a_refused_pipeline_is_not_sent_again_unchanged() -> None:
    status = status_of(pipeline(), synced=False, reason="ValidationError")
    assert decided(pipeline(status=status)) == plan.Refused("said before")
    assert decided(pipeline(status=status, generation=2)) == plan.Update("7")
    assert decided(pipeline(status=status, enabled=False)) == plan.Update("7")


def test_a_changed_spec_is_an_update() -> None:
    assert decided(pipeline(status=status_of(pipeline()), enabled=False)) == plan.Update("7")


def test_another_name_is_a_rename() -> None:
    obj = pipeline()
    renamed = Pipeline(
        metadata=obj.metadata,
        spec=PipelineSpec(contents=CONTENTS, matchers=("env=prod",), name="other"),
        status=status_of(obj),
    )
    assert decided(renamed) == plan.Rename("7")


def test_a_status_that_was_lost_is_found_again_without_a_call() -> None:
    obj = pipeline()
    remote = remote_of(obj)
    assert decided(obj, plan.Known(remote=remote)) == plan.Nothing(remote)
    changed = remote._replace(enabled=False)
    assert decided(obj, plan.Known(remote=changed)) == plan.Update("7")


def test_an_unknown_id_is_missing_only_if_the_server_was_read() -> None:
    obj = pipeline(status=status_of(pipeline()))
    assert decided(obj, plan.Known(is_complete=False)) == plan.Nothing()
    assert decided(obj, plan.Known(is_complete=True)) == plan.Create(Reason.RECREATED)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("Correct", plan.Update("7", Reason.CORRECTED, ("enabled",))),
        ("Warn", plan.Report(("enabled",))),
    ],
)
def test_drift_follows_its_policy(policy: Any, expected: plan.Action) -> None:
    obj = pipeline(drift_policy=policy)
    obj = pipeline(drift_policy=policy, status=status_of(obj))
    known = plan.Known(is_complete=True, remote=remote_of(obj, enabled=False))
    assert decided(obj, known) == expected


def test_ignored_drift_plans_nothing() -> None:
    obj = pipeline(drift_policy="Ignore")
    obj = pipeline(drift_policy="Ignore", status=status_of(obj))
    assert decided(obj, plan.Known(is_complete=True)) == plan.Nothing()


def test_what_the_server_makes_of_our_words_is_no_drift() -> None:
    obj = pipeline(status=status_of(pipeline()))
    odd = remote_of(obj, contents='// the server says so\nother.thing "x" {}\n')
    known = plan.Known(is_complete=True, remote=odd, answer=odd._replace(updated_at="before"))
    assert decided(obj, known) == plan.Nothing(odd)


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        pytest.param({}, (), id="the same"),
        pytest.param({"contents": f"\n{CONTENTS}\n\n"}, (), id="white space"),
        pytest.param({"contents": CONTENTS.replace("\n", "\r\n")}, (), id="line ends"),
        pytest.param({"matchers": ('env = "prod"',)}, (), id="another spelling of a matcher"),
        pytest.param({"matchers": ()}, ("matchers",), id="no matchers"),
        pytest.param({"config_type": "CONFIG_TYPE_OTEL"}, ("configType",), id="another language"),
        pytest.param({"name": "x", "enabled": False}, ("name", "enabled"), id="two at once"),
        pytest.param({"contents": 'a.b "c" {}'}, ("contents",), id="other contents"),
    ],
)
def test_only_what_matters_differs(changes: dict[str, Any], fields: tuple[str, ...]) -> None:
    obj = pipeline()
    assert find_differences(desire(obj), remote_of(obj, **changes)) == fields


def test_a_preview_shows_lines_but_no_secret() -> None:
    desired, remote = desire(pipeline()), remote_of(pipeline(), contents="old\n", enabled=False)
    shown = format_preview(desired, remote, is_secret=False)
    assert "-old" in shown and "enabled: False -> True" in shown
    assert "old" not in format_preview(desired, remote, is_secret=True)
    assert format_preview(desired, remote_of(pipeline()), is_secret=False) == "nothing would change"


def test_the_holder_of_a_name_comes_before_the_older() -> None:
    old = pipeline("old", created="2026-01-01T00:00:00Z")
    young = pipeline("young", created="2026-01-02T00:00:00Z")
    twin = pipeline("aaa", created="2026-01-01T00:00:00Z")
    assert plan.choose_owner([young, old], "shared", UNKNOWN) is old
    assert plan.choose_owner([old, twin], "shared", UNKNOWN) is twin
    said = pipeline(
        "young", created="2026-01-02T00:00:00Z", status=PipelineStatus(id="1", name="shared")
    )
    assert plan.choose_owner([old, said], "shared", UNKNOWN) is said


def test_the_servers_word_about_a_name_counts_more_than_a_status() -> None:
    old = pipeline("old", created="2026-01-01T00:00:00Z")
    young = pipeline("young", created="2026-01-02T00:00:00Z")
    said = pipeline(
        "said", created="2026-01-03T00:00:00Z", status=PipelineStatus(id="1", name="shared")
    )
    written = plan.Known(remote=Remote(id="9", name="shared", owner="uid-young"))
    assert plan.choose_owner([old, said, young], "shared", written) is young
    edited = plan.Known(remote=Remote(id="1", name="shared"))
    assert plan.choose_owner([old, said, young], "shared", edited) is said
    deleted = plan.Known(is_complete=True)
    assert plan.choose_owner([old, said, young], "shared", deleted) is old


def test_ownership_is_by_object_not_by_name() -> None:
    obj = pipeline()
    assert is_ours(obj, remote_of(obj))
    assert not is_ours(obj, remote_of(obj, owner="another"))
    namespace = desire(obj).source_namespace
    assert is_ours(obj, remote_of(obj, owner="", source_namespace=namespace))
    assert not is_ours(obj, remote_of(obj, owner=""))


def test_the_hash_covers_everything_that_is_sent_and_where_to() -> None:
    variants = [
        desire(pipeline()),
        desire(pipeline(enabled=False)),
        desire(pipeline(matchers=("env=test",))),
        desire(pipeline("other")),
        build_desired(pipeline(), Contents(CONTENTS + "\n"), url=URL),
        build_desired(pipeline(), Contents(CONTENTS), url="https://other.example.com"),
    ]
    assert len({each.hash for each in variants}) == len(variants)


def test_a_kubernetes_source_is_never_sent() -> None:
    for kind in ("Kubernetes", "Unspecified", "Grafana"):
        message = desire(pipeline(source=PipelineSource(type=kind))).to_message()
        assert message["source"]["type"] == "SOURCE_TYPE_UNSPECIFIED"
    git = desire(pipeline(source=PipelineSource(type="Git", namespace="repo"))).to_message()
    assert git["source"] == {"type": "SOURCE_TYPE_GIT", "namespace": "repo"}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"matchers": ("env=prod,team=a",)}, "spec.matchers[0]"),
        ({"matchers": tuple(["a=b"] * 101)}, "at most 100"),
        ({"matchers": ("a=" + "b" * 200,)}, "at most 200"),
        ({"contents": "logging {}"}, "spec.contents"),
        ({"contents": "x: 1", "config_type": "OpenTelemetryCollector"}, "spec.contents"),
    ],
)
def test_problems_name_their_field(changes: dict[str, Any], text: str) -> None:
    obj = pipeline(**changes)
    assert any(text in each for each in find_problems(obj, Contents(obj.spec.contents)))


@pytest.mark.parametrize(
    ("policy", "changes", "adopted"),
    [
        ("Never", {}, True),  # it is ours already
        ("Always", {"owner": "another"}, True),
        ("Always", {"owner": "another", "source_type": GRAFANA}, False),
        ("IfUnowned", {"owner": ""}, True),
        ("IfUnowned", {"owner": "another"}, False),
        ("Never", {"owner": ""}, False),
    ],
)
def test_adoption_follows_its_policy_and_spares_grafanas_own(
    policy: Any, changes: dict[str, Any], adopted: bool
) -> None:
    obj = pipeline(adoption_policy=policy)
    assert plan.may_adopt(obj, remote_of(obj, **changes)) is adopted


def test_a_changed_pipeline_that_is_gone_is_created_again() -> None:
    obj = pipeline(contents=CONTENTS + "\n// more", status=status_of(pipeline()))
    assert decided(obj, plan.Known(is_complete=True)) == plan.Create(Reason.RECREATED)


def test_what_is_not_there_differs_in_nothing() -> None:
    assert plan.Known(is_complete=True).differences(desire(pipeline())) == ()
