"""Names, their limits and their uniqueness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.operators.experiments.samples import experiment

from quarterdeck.meta import names
from quarterdeck.operators.experiments import naming


@pytest.mark.parametrize(
    ("name", "target", "length"),
    [
        ("observability-cost-tutorial-", "app", 48),
        ("prometheus-tutorial-", "app", 40),
        ("gw-comp-", "loadgen", 32),
    ],
)
def test_the_length_of_a_gke_name_includes_generated_parts(
    name: str, target: str, length: int
) -> None:
    generated = f"{name}x7k2p"  # the server completes generateName by five characters
    assert naming.compute_gke_name_length(generated, target) == length


def test_names_in_the_home_namespace_are_plain() -> None:
    found = experiment("gateway-tutorial")
    assert naming.build_base_name(found) == "gateway-tutorial"
    assert naming.build_cluster_name(found, "app", limit=63) == "gateway-tutorial-app"
    assert naming.build_cluster_name(found, "app", limit=63, attempt=1) == "gateway-tutorial-app-r1"
    assert naming.build_workflow_name(found) == "gateway-tutorial-validation"
    assert naming.build_workflow_name(found, repeat=2) == "gateway-tutorial-validation-3"
    assert naming.build_workflow_name(found, attempt=1) == "gateway-tutorial-validation-r1"
    assert naming.build_application_name(found, "app", "nginx") == "gateway-tutorial-app-nginx"


def test_the_same_name_in_two_namespaces_shares_nothing() -> None:
    one, two = experiment("same", namespace="a"), experiment("same", namespace="b")
    assert naming.build_base_name(one) != naming.build_base_name(two)
    assert naming.build_base_name(one).startswith("same-")
    assert naming.build_datasource_uid(one, "t") != naming.build_datasource_uid(two, "t")


LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?", fullmatch=True)
TARGETS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?", fullmatch=True)


@given(LABELS, LABELS, TARGETS, st.integers(0, 5))
def test_every_derived_name_is_valid(name: str, space: str, target: str, attempt: int) -> None:
    found = experiment(name, namespace=space)
    limit = naming.MAX_GKE - len(naming.GKE_PREFIX) - naming.XR_SUFFIX
    cluster = naming.build_cluster_name(found, target, limit=limit, attempt=attempt)
    assert len(cluster) <= limit
    derived = (
        cluster,
        naming.build_workflow_name(found, repeat=99, attempt=attempt),
        naming.build_application_name(found, target, "a-rather-long-component-name-of-a-catalog"),
        naming.build_job_name(found),
    )
    for each in derived:
        assert names.check_dns1123_label(each) == []
    assert len(naming.build_datasource_uid(found, "x" * 150)) <= 40


@given(LABELS, TARGETS, TARGETS)
def test_targets_of_one_experiment_never_share_a_cluster(name: str, one: str, two: str) -> None:
    found = experiment(name)
    same = naming.build_cluster_name(found, one, limit=29) == naming.build_cluster_name(
        found, two, limit=29
    )
    assert same == (one == two)
