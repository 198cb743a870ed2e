"""Stores of results against a real API server, a directory, and a real S3 server."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from quarterdeck.apis.core.config import ConfigMap, Namespace
from quarterdeck.apis.experiments.v1alpha1 import KINDS, Experiment
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.experiment_results import build_storage_options, choose_results_url
from quarterdeck.app.experiments_settings import Settings
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.experiments.drivers import result_stores
from quarterdeck.operators.experiments.drivers.result_stores import (
    ConfigMaps,
    Files,
    ObjectStorage,
    UnknownStore,
    fit,
    open_store,
)
from quarterdeck.operators.experiments.results.ports import StoreUnavailable
from quarterdeck.testing import programs

FILES = {"summary.json": b'{"name": "demo"}', "metrics-snapshot.json": b"{}"}
ACCESS_KEY = "results-access"
SECRET_KEY = "results-secret-key"


def experiment(namespace: str = "experiments") -> Experiment:
    return msgspec.convert(
        {
            "metadata": {"name": "demo", "namespace": namespace},
            "spec": {
                "targets": [{"name": "app", "cluster": {"type": "hub"}}],
                "workflow": {"template": "t", "completion": {"mode": "workflow"}},
            },
        },
        Experiment,
    )


async def test_a_configmap_goes_with_its_experiment() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        await definitions.install(client.raw, KINDS)
        await client.create(Namespace(metadata=ObjectMeta(name="experiments")))
        created = await client.create(experiment())
        store = ConfigMaps(client)
        url = await store.write(created, FILES)
        assert url == "configmap://experiments/demo-results"
        await store.write(created, {**FILES, "summary.json": b'{"name": "again"}'})
        assert await store.read(url, "summary.json") == b'{"name": "again"}'
        found = await client.get(ConfigMap, "demo-results", "experiments")
        assert found.metadata.owner_references[0].uid == created.metadata.uid
        with pytest.raises(StoreUnavailable, match="has no other"):
            await store.read(url, "other.json")
        with pytest.raises(StoreUnavailable, match="cannot read ConfigMap experiments/none"):
            await store.read("configmap://experiments/none", "summary.json")


async def test_a_namespace_that_is_gone_is_reported() -> None:
    async with Cluster() as cluster:
        with pytest.raises(StoreUnavailable, match="cannot write ConfigMap gone/demo-results"):
            await ConfigMaps(cluster.client).write(experiment("gone"), FILES)


def test_what_does_not_fit_into_a_configmap_is_left_out() -> None:
    big = b"x" * result_stores.MAX_CONFIGMAP
    assert list(fit({"metrics-snapshot.json": big, "summary.json": b"{}"})) == ["summary.json"]
    with pytest.raises(StoreUnavailable, match="--results-url"):
        fit({"summary.json": big + b"x"})


async def test_files_are_written_whole(tmp_path: Path) -> None:
    store = Files(tmp_path / "with space")
    url = await store.write(experiment(), FILES)
    assert url.endswith("/with%20space/demo/")
    assert await store.read(url, "summary.json") == FILES["summary.json"]
    assert sorted(each.name for each in (tmp_path / "with space" / "demo").iterdir()) == [
        "metrics-snapshot.json",
        "summary.json",
    ]
    other = await store.write(experiment("other"), FILES)
    assert other != url
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="cannot write results to"):
        await Files(tmp_path / "file").write(experiment(), FILES)


async def test_an_unknown_scheme_is_refused() -> None:
    async with Cluster() as cluster:
        with pytest.raises(UnknownStore, match="must be one of configmap, file, s3"):
            open_store("ftp://example.com", cluster.client)
        assert isinstance(open_store("", cluster.client), ConfigMaps)
        assert isinstance(open_store("file:///tmp/results", cluster.client), Files)


def test_the_variables_of_the_existing_project_name_a_bucket() -> None:
    assert choose_results_url(Settings()) == ""
    given = Settings(s3_endpoint="seaweedfs-s3.seaweedfs.svc:8333")
    assert choose_results_url(given) == "s3://experiment-results"
    options = build_storage_options(given, {})
    assert options["endpoint"] == "http://seaweedfs-s3.seaweedfs.svc:8333"
    assert options["skip_signature"] is True
    signed = build_storage_options(given, {"AWS_ACCESS_KEY_ID": "a"})
    assert "skip_signature" not in signed


# --- a real S3 server


class S3(NamedTuple):
    options: dict[str, object]
    root: Path


@pytest.fixture
def s3(tmp_path: Path, obstore_runtime: None) -> Iterator[S3]:
    """versitygw on a directory; `make test-full` builds it where Go is present."""
    program = programs.require("versitygw", install="bash tools/s3.sh .tools .venv")
    root, port = tmp_path / "s3", programs.find_free_port()
    (root / "experiment-results").mkdir(parents=True)
    command = [program, "--access", ACCESS_KEY, "--secret", SECRET_KEY]
    command += ["--port", f"127.0.0.1:{port}", "posix", "--nometa", str(root)]
    with programs.run_program(command, port=port, folder=tmp_path):
        given = Settings(s3_endpoint=f"127.0.0.1:{port}")
        options = build_storage_options(given, {"AWS_ACCESS_KEY_ID": ACCESS_KEY})
        yield S3({**options, "access_key_id": ACCESS_KEY, "secret_access_key": SECRET_KEY}, root)


async def test_object_storage_keeps_results(s3: S3) -> None:
    store = ObjectStorage("s3://experiment-results/nightly", s3.options)
    url = await store.write(experiment(), FILES)
    assert url == "s3://experiment-results/nightly/demo/"
    assert await store.read(url, "summary.json") == FILES["summary.json"]
    await store.write(experiment(), {"summary.json": b"{}"})
    assert await store.read(url, "summary.json") == b"{}"
    assert (s3.root / "experiment-results/nightly/demo/summary.json").read_bytes() == b"{}"
    with pytest.raises(StoreUnavailable, match="cannot read"):
        await store.read(url, "nothing.json")


async def test_object_storage_that_refuses_shows_no_secret(s3: S3) -> None:
    store = ObjectStorage(
        "s3://experiment-results", {**s3.options, "secret_access_key": "wrong-secret-key"}
    )
    with pytest.raises(StoreUnavailable, match="cannot write") as caught:
        await store.write(experiment(), FILES)
    assert "wrong-secret-key" not in str(caught.value)


async def test_object_storage_that_is_away_is_reported_soon(obstore_runtime: None) -> None:
    given = Settings(s3_endpoint=f"127.0.0.1:{programs.find_free_port()}")
    store = ObjectStorage("s3://experiment-results", build_storage_options(given, {}))
    with pytest.raises(StoreUnavailable, match="cannot write s3://experiment-results/demo"):
        await store.write(experiment(), FILES)
