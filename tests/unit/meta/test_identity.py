import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta.identity import GVK, GVR, GroupKind, GroupVersion, Key


@pytest.mark.parametrize(
    ("text", "expected"), [("v1", GroupVersion("", "v1")), ("apps/v1", GroupVersion("apps", "v1"))]
)
def test_api_versions_are_read_and_written(text: str, expected: GroupVersion) -> None:
    assert GroupVersion.parse(text) == expected
    assert expected.api_version == text


@pytest.mark.parametrize("text", ["", "/", "/v1", "a/b/c", "apps/"])
def test_broken_api_versions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unexpected GroupVersion string"):
        GroupVersion.parse(text)


def test_kinds_and_resources_name_themselves() -> None:
    gvk = GVK.of("apps/v1", "Deployment")
    assert (gvk.api_version, gvk.group_kind) == ("apps/v1", GroupKind("apps", "Deployment"))
    assert str(gvk) == "apps/v1, Kind=Deployment"
    assert [str(GroupKind("apps", "Deployment")), str(GroupKind("", "Pod"))] == [
        "Deployment.apps",
        "Pod",
    ]
    assert GVR("apps", "v1", "deployments").group_resource == "deployments.apps"
    assert GVR("", "v1", "pods").group_resource == "pods"
    assert GVR("apps", "v1", "deployments").api_version == "apps/v1"


_names = st.text("abc-.", min_size=1)


@given(st.just("") | _names, _names)
def test_keys_survive_printing(namespace: str, name: str) -> None:
    assert Key.parse(str(Key(namespace, name))) == Key(namespace, name)
