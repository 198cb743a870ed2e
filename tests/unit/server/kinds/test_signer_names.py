"""Names of signers, which certificate requests and trust bundles share."""

import pytest

from quarterdeck.server.kinds.signer_names import validate_signer

PATH = "spec.signerName"


def check(name: str) -> list[str]:
    return [str(each) for each in validate_signer(name, PATH)]


@pytest.mark.parametrize(
    "name", ["example.com/a", "kubernetes.io/kube-apiserver-client", "a.b/c.d-e.f"]
)
def test_a_domain_and_a_path_are_a_name(name: str) -> None:
    assert check(name) == []


def test_a_name_is_required() -> None:
    assert check("") == ["spec.signerName: Required value"]


@pytest.mark.parametrize("name", ["example.com", "example.com/a/b"])
def test_there_is_one_slash(name: str) -> None:
    (problem,) = check(name)
    assert problem.endswith("of the form 'example.com/signer-name'")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        pytest.param("Example.com/a", "Example", id="upper case in the domain"),
        pytest.param("example.com/a:b", "a:b", id="colon in the path"),
        pytest.param("example.com/", "", id="empty path"),
    ],
)
def test_each_part_is_a_dns_name(name: str, label: str) -> None:
    (problem,) = check(name)
    assert f'validating label "{label}": ' in problem


def test_the_domain_has_a_dot() -> None:
    (problem,) = check("local/a")
    assert "at least two segments separated by dots" in problem


def test_a_name_is_bounded() -> None:
    assert check("example.com/" + ".".join(["a" * 60] * 9)) == []
    assert any("Too long" in each for each in check("example.com/" + ".".join(["a" * 60] * 10)))
