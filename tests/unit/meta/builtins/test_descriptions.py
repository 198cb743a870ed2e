"""What OpenAPI says about built-in kinds."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterdeck.meta.builtins import descriptions, nodes, resources, table

POD_SPEC = "io.k8s.api.core.v1.PodSpec"
VOLUME = "io.k8s.api.core.v1.Volume"


@pytest.fixture
def fresh() -> Iterator[None]:
    """Forget what was read, before and after."""
    caches = (descriptions._load, descriptions.get_checksum)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def test_every_text_belongs_to_a_type_and_a_member_of_it() -> None:
    texts = json.loads(Path(descriptions.__file__).with_name("descriptions.json").read_text())
    for name in texts.keys() - {"*"}:
        members = nodes.build_node(name).properties
        assert not texts[name].keys() - members.keys() - {""}, name


def test_every_served_kind_is_described() -> None:
    gated = resources.list_gated_resources({"MutatingAdmissionPolicy"})
    for each in (*resources.list_resources(), *gated):
        name = table.find_kind_type(each.kind.api_version, each.kind.kind)
        assert name and descriptions.describe_type(table.to_openapi_name(name)), each.kind


def test_members_of_inlined_types_are_described() -> None:
    assert descriptions.describe_member(VOLUME, "emptyDir")
    assert descriptions.describe_member("com.example.v1.Widget", "spec")
    assert descriptions.describe_member(POD_SPEC, "nope") == ""


@pytest.mark.usefixtures("fresh")
def test_an_installed_package_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = descriptions.get_checksum()
    descriptions.get_checksum.cache_clear()
    folder = tmp_path / descriptions.PACKAGE
    folder.mkdir()
    (folder / "__init__.py").touch()
    texts = {"core/v1.PodSpec": {"": "from elsewhere", "containers": "theirs"}}
    (folder / "descriptions.json").write_text(json.dumps(texts))
    monkeypatch.syspath_prepend(tmp_path)
    assert descriptions.describe_type(POD_SPEC) == "from elsewhere"
    assert descriptions.describe_member(POD_SPEC, "containers") == "theirs"
    assert descriptions.describe_member(VOLUME, "emptyDir")
    assert descriptions.get_checksum() != before
