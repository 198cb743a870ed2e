"""Kinds of clusters that an installation names itself."""

import msgspec
import pytest
from tests.unit.operators.experiments.samples import experiment

from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments.cluster_types import ClusterTypesError, load_cluster_types
from quarterdeck.operators.experiments.clusters import build_adapters, list_request_kinds
from quarterdeck.operators.experiments.settings import Settings

FILE = """
gke:
  apiVersion: platform.example.com/v1
  kind: KubernetesCluster
  plural: kubernetesclusters
  secretNamespace: ""
  secretName: "{name}-kubeconfig"
"""


def test_a_named_kind_replaces_the_usual_one() -> None:
    found = build_adapters(Settings(cluster_types=load_cluster_types(FILE)))
    gke = found["gke"]
    assert gke.kind is not None and gke.kind in list_request_kinds(found)
    assert gke.kind.KIND.gvr.group_resource == "kubernetesclusters.platform.example.com"
    exp = experiment("e", {"name": "app", "cluster": {"type": "gke"}})
    document = gke.build(exp, exp.spec.targets[0], "e-app")
    assert (document["apiVersion"], document["kind"]) == (
        "platform.example.com/v1",
        "KubernetesCluster",
    )
    assert "compositeDeletePolicy" not in document["spec"]
    request = msgspec.convert({"metadata": {"name": "e-app", "namespace": "n"}}, gke.kind)
    assert gke.observe(request).connection_secret == Key("n", "e-app-kubeconfig")
    assert gke.composite is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "not YAML"),
        ("aks: {}", "invalid cluster types"),
        ("gke: {kind: X}", "apiVersion"),
        ("gke: {apiVersion: a/v1, kind: X, plural: xs, color: red}", "color"),
        ("gke: {apiVersion: a/v1, kind: X, plural: xs, secretName: '{other}'}", "may contain"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(ClusterTypesError, match=words):
        load_cluster_types(text)


def test_an_empty_file_changes_nothing() -> None:
    assert load_cluster_types("") == {}
