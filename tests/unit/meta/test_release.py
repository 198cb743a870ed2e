"""What the releases of Kubernetes differ in."""

import re
from pathlib import Path

import pytest
from newest import being

import quarterdeck
from quarterdeck.meta import release

_ASKED = re.compile(r'(?:has_feature\(|generation_feature=)"(\w+)"')


def test_every_feature_that_code_asks_for_is_listed() -> None:
    sources = Path(quarterdeck.__file__).parent.rglob("*.py")
    asked = {name for each in sources for name in _ASKED.findall(each.read_text())}
    assert len(asked) > 40
    for name in asked:
        assert release.has_feature(name) in (True, False)


def test_a_name_that_is_not_listed_is_an_error() -> None:
    with pytest.raises(KeyError):
        release.has_feature("NoSuchFeature")


def test_a_feature_follows_the_release() -> None:
    with being("1.32"):
        assert not release.has_feature("EnvFiles")
    with being("1.36"):
        assert release.has_feature("EnvFiles")
        assert not release.has_feature("PodCertificateRequest")
    with being("1.37"):
        assert release.has_feature("PodCertificateRequest")
