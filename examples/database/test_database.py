"""Databases on an API server with simulated workloads: from nothing to ready to gone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from database import Database, DatabaseSpec, build_webhooks, check, controller

from quarterdeck.apis.kubernetes.apps import StatefulSet
from quarterdeck.apis.kubernetes.batch import CronJob
from quarterdeck.apis.kubernetes.core import PersistentVolumeClaim, Secret
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Denied, Manager, Review
from quarterdeck.server.options import ServerOptions
from quarterdeck.testing import eventually
from quarterdeck.wire.status import ApiError

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
SPEC = DatabaseSpec(replicas=3, storage="2Gi", backup_schedule="0 3 * * *")


def database(spec: DatabaseSpec = SPEC) -> Database:
    return Database(metadata=ObjectMeta(name="shop", namespace="default"), spec=spec)


@asynccontextmanager
async def operator() -> AsyncIterator[Client]:
    async with Cluster(options=ServerOptions(simulate_workloads=True)) as cluster:
        await cluster.client.resource(CRDS).create(crd.build_manifest([Database]))
        manager = Manager(cluster.client, name="databases", webhooks=build_webhooks())
        manager.add(controller)
        async with manager.running():
            yield cluster.client


async def is_ready(client: Client, replicas: int) -> bool:
    found = await client.get(Database, "shop", "default")
    return found.status.ready_replicas == replicas


async def test_a_database_from_nothing_to_gone() -> None:
    async with operator() as client:
        created = await client.create(database())
        await eventually(lambda: is_ready(client, 3))
        secret = await client.get(Secret, "shop-login", "default")
        assert secret.data["password"]
        assert (await client.get(CronJob, "shop-backup", "default")).spec.schedule == "0 3 * * *"

        await client.patch(created, {"spec": {"replicas": 5, "backupSchedule": ""}})
        await eventually(lambda: is_ready(client, 5))
        assert await client.list(CronJob, "default") == []
        same = await client.get(Secret, "shop-login", "default")
        assert same.data == secret.data, "the password changed without need"

        with pytest.raises(ApiError, match="an engine cannot change"):
            await client.patch(created, {"spec": {"engine": "mysql"}})

        await client.delete(Database, "shop", "default")

        async def is_gone() -> bool:
            kinds = (Database, StatefulSet, PersistentVolumeClaim)
            return not [each for kind in kinds for each in await client.list(kind, "default")]

        await eventually(is_gone)


def test_schedules_have_five_fields_and_even_numbers_are_warned_of() -> None:
    with pytest.raises(Denied, match="needs five fields"):
        check(Review.of(database(DatabaseSpec(backup_schedule="daily"))))
    review = Review.of(database(DatabaseSpec(replicas=2)))
    check(review)
    assert review.warnings == [
        "spec.replicas: an even number of replicas survives no more than one less"
    ]
