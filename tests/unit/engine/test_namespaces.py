import pytest

from quarterdeck.engine import NamespaceFilter, compile_wildcard, guess_resource


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("prod-*", "prod-east", True),
        ("prod-*", "dev-east", False),
        ("pod-?", "pod-1", True),
        ("pod-?", "pod-12", False),
        ("test.io", "testXio", False),
        ("test.io", "test.io", True),
        ("a[b]", "a[b]", True),
        ("*", "", True),
        ("*", "a\nb", True),
    ],
)
def test_wildcards_match_whole_names(pattern: str, name: str, matches: bool) -> None:
    assert compile_wildcard(pattern).fullmatch(name) is matches


def test_exclusion_wins_over_inclusion() -> None:
    chosen = NamespaceFilter(["app-*"], ["app-internal"])
    names = ["app-a", "app-internal", "kube-system"]
    assert [name for name in names if chosen.matches(name)] == ["app-a"]
    assert NamespaceFilter([], ["openshift-*"]).matches("default")
    assert not NamespaceFilter([], ["openshift-*"]).matches("openshift-etcd")


@pytest.mark.parametrize(
    ("include", "exclude", "names"),
    [
        ([], [], None),
        (["a", "b", "a"], [], ("a", "b")),
        (["a"], ["b"], None),
        (["a", "b?"], [], None),
    ],
)
def test_exact_names_are_listed_one_by_one(
    include: list[str], exclude: list[str], names: tuple[str, ...] | None
) -> None:
    assert NamespaceFilter(include, exclude).names == names


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("Pod", "pods"),
        ("Policy", "policies"),
        ("Ingress", "ingresses"),
        ("Endpoints", "endpoints"),
        ("StorageClass", "storageclasses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
    ],
)
def test_plurals_follow_english(kind: str, resource: str) -> None:
    assert guess_resource(kind) == resource
