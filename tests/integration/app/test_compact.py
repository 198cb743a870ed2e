"""`quarterdeck server compact`: history goes, objects stay, a running server is not touched."""

from pathlib import Path

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import DATABASE, Cluster
from quarterdeck.cli.main import run
from quarterdeck.meta.objects import ObjectMeta, replace


async def fill(folder: Path) -> dict[str, str]:
    """Write, change and delete objects; returns the versions of those that stay."""
    async with Cluster(in_memory=False, data_dir=folder) as cluster:
        for name in ("kept", "gone"):
            metadata = ObjectMeta(name=name, namespace="default")
            value = await cluster.client.create(ConfigMap(metadata=metadata))
            for number in range(40):
                data = {"text": f"{number}" * 2000}
                value = await cluster.client.update(replace(value, data=data))
        await cluster.client.delete(ConfigMap, "gone", "default")
        return await list_versions(cluster)


async def list_versions(cluster: Cluster) -> dict[str, str]:
    found = await cluster.client.list(ConfigMap)
    return {str(each.key): each.metadata.resource_version for each in found}


async def test_history_goes_and_objects_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = await fill(tmp_path)
    size = (tmp_path / DATABASE).stat().st_size
    assert run(["server", "compact", "--data-dir", str(tmp_path)]) == 0
    assert "old versions deleted" in capsys.readouterr().out
    assert (tmp_path / DATABASE).stat().st_size < size / 2
    async with Cluster(in_memory=False, data_dir=tmp_path) as cluster:
        assert await list_versions(cluster) == versions
        metadata = ObjectMeta(name="later", namespace="default")
        later = await cluster.client.create(ConfigMap(metadata=metadata))
        newest = max(int(each) for each in versions.values())
        assert int(later.metadata.resource_version) > newest
    assert run(["server", "compact", "--data-dir", str(tmp_path)]) == 0


async def test_running_server_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Cluster(in_memory=False, data_dir=tmp_path):
        assert run(["server", "compact", "--data-dir", str(tmp_path)]) != 0
    assert "is locked by process" in capsys.readouterr().err


def test_absent_data_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["server", "compact", "--data-dir", str(tmp_path / "none")]) != 0
    assert "does not exist" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
