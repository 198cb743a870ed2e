"""An operator for databases: a StatefulSet, its Service, a password, and backups on a schedule."""

import asyncio
import secrets
from typing import Annotated, Literal

from quarterdeck.apis.kubernetes.apps import StatefulSet, StatefulSetSpec
from quarterdeck.apis.kubernetes.batch import CronJob, CronJobSpec, JobSpec, JobTemplateSpec
from quarterdeck.apis.kubernetes.core import (
    Container,
    ContainerPort,
    EnvVar,
    EnvVarSource,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PodSpec,
    PodTemplateSpec,
    Secret,
    SecretKeySelector,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeMount,
    VolumeResourceRequirements,
)
from quarterdeck.client import Client, load_config
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Schema, Time
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.meta.selectors import LabelSelector
from quarterdeck.runtime import (
    Context,
    Controller,
    Denied,
    Finalizer,
    Manager,
    Registration,
    RequeueAfter,
    Result,
    Review,
    Waiting,
    Webhooks,
)

ENGINES = {"postgres": ("postgres:17", 5432), "mysql": ("mysql:9", 3306)}
PASSWORD_LIFE_S = 30 * 24 * 3600
KEEP = "example.com/keep-data"


class DatabaseSpec(Struct, frozen=True, kw_only=True):
    engine: Literal["postgres", "mysql"] = "postgres"
    replicas: Annotated[int, Schema(minimum=1, maximum=9)] = 1
    storage: str = "1Gi"
    backup_schedule: str = ""
    """When to back up, as CronJobs write it; empty means never."""


class DatabaseStatus(Struct, frozen=True, kw_only=True):
    address: str = ""
    ready_replicas: int = 0
    password_time: Time = ""
    """When the password was made; it is replaced after thirty days."""
    observed_generation: int = 0
    conditions: Conditions = ()


class Database(Object, frozen=True, kw_only=True):
    KIND = KindInfo(
        group="example.com",
        version="v1",
        kind="Database",
        plural="databases",
        short_names=("db",),
        columns=(
            Column(name="Engine", path=".spec.engine"),
            Column(name="Ready", path=".status.readyReplicas", type="integer"),
            Column(name="Address", path=".status.address"),
            AGE,
        ),
    )
    spec: DatabaseSpec = DatabaseSpec()
    status: DatabaseStatus = DatabaseStatus()


async def reconcile(database: Database, ctx: Context[Database]) -> Result:
    """Secret, Service, StatefulSet and backups; ready when the pods are."""
    name, spec = database.metadata.name, database.spec
    next_password_s = await renew_password(database, ctx)
    await ctx.apply(build_service(database))
    applied = await ctx.apply(build_stateful_set(database))
    backups = [build_backup(database)] if spec.backup_schedule else []
    await ctx.apply_all(backups, prune=[CronJob])
    _, port = ENGINES[spec.engine]
    ready = applied.status.ready_replicas
    ctx.status.set(address=f"{name}.{database.metadata.namespace}:{port}", ready_replicas=ready)
    if ready < spec.replicas:
        raise Waiting("PodsNotReady", f"{ready} of {spec.replicas} pods are ready", after_s=60)
    return RequeueAfter(next_password_s)


async def renew_password(database: Database, ctx: Context[Database]) -> float:
    """Make a password where there is none or it is too old; returns the seconds until the next."""
    made = database.status.password_time
    age_s = (ctx.now() - rfc3339.parse(made)).total_seconds() if made else PASSWORD_LIFE_S
    found = await ctx.find(Secret, f"{database.metadata.name}-login")
    if found is not None and age_s < PASSWORD_LIFE_S:
        return PASSWORD_LIFE_S - age_s
    metadata = ObjectMeta(name=f"{database.metadata.name}-login")
    password = {"password": secrets.token_urlsafe(24)}
    await ctx.apply(Secret(metadata=metadata, string_data=password))
    ctx.status.set(password_time=rfc3339.format_time(ctx.now()))
    ctx.event("PasswordRenewed", f"wrote a new password to Secret {metadata.name}")
    return PASSWORD_LIFE_S


async def remove_data(database: Database, ctx: Context[Database]) -> None:
    """Claims of a StatefulSet outlive it: delete them, unless the user wants to keep the data."""
    if KEEP in database.metadata.annotations:
        return
    labels = f"database={database.metadata.name}"
    namespace = database.metadata.namespace
    for claim in await ctx.list(PersistentVolumeClaim, namespace=namespace, labels=labels):
        await ctx.delete(claim)


def build_service(database: Database) -> Service:
    _, port = ENGINES[database.spec.engine]
    spec = ServiceSpec(
        selector=labels_of(database), ports=(ServicePort(port=port),), cluster_ip="None"
    )
    return Service(metadata=ObjectMeta(name=database.metadata.name), spec=spec)


def build_stateful_set(database: Database) -> StatefulSet:
    labels = labels_of(database)
    claim = PersistentVolumeClaim(
        metadata=ObjectMeta(name="data", labels=labels),
        spec=PersistentVolumeClaimSpec(
            access_modes=("ReadWriteOnce",),
            resources=VolumeResourceRequirements(requests={"storage": database.spec.storage}),
        ),
    )
    pod = PodSpec(containers=(build_container(database),))
    spec = StatefulSetSpec(
        replicas=database.spec.replicas,
        service_name=database.metadata.name,
        selector=LabelSelector(match_labels=labels),
        template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod),
        volume_claim_templates=(claim,),
    )
    return StatefulSet(metadata=ObjectMeta(name=database.metadata.name), spec=spec)


def build_container(database: Database, *command: str) -> Container:
    image, port = ENGINES[database.spec.engine]
    key = SecretKeySelector(name=f"{database.metadata.name}-login", key="password")
    variable = "POSTGRES_PASSWORD" if database.spec.engine == "postgres" else "MYSQL_ROOT_PASSWORD"
    return Container(
        name=database.spec.engine,
        image=image,
        command=command,
        ports=() if command else (ContainerPort(container_port=port),),
        env=(EnvVar(name=variable, value_from=EnvVarSource(secret_key_ref=key)),),
        volume_mounts=() if command else (VolumeMount(name="data", mount_path="/var/lib/data"),),
    )


def build_backup(database: Database) -> CronJob:
    tool = "pg_dump" if database.spec.engine == "postgres" else "mysqldump"
    container = build_container(database, tool, "--host", database.metadata.name)
    pod = PodSpec(containers=(container,), restart_policy="OnFailure")
    job = JobTemplateSpec(spec=JobSpec(template=PodTemplateSpec(spec=pod)))
    spec = CronJobSpec(schedule=database.spec.backup_schedule, job_template=job)
    return CronJob(metadata=ObjectMeta(name=f"{database.metadata.name}-backup"), spec=spec)


def labels_of(database: Database) -> dict[str, str]:
    return {"database": database.metadata.name}


def check(review: Review[Database]) -> None:
    """What no schema can say: the engine stays, and a schedule has five fields."""
    spec = review.object.spec
    if spec.backup_schedule and len(spec.backup_schedule.split()) != 5:
        raise Denied(f"spec.backupSchedule: {spec.backup_schedule!r} needs five fields")
    if review.old is not None and review.old.spec.engine != spec.engine:
        raise Denied("spec.engine: an engine cannot change; create another database")
    if spec.replicas % 2 == 0:
        review.warn("spec.replicas: an even number of replicas survives no more than one less")


def build_webhooks() -> Webhooks:
    webhooks = Webhooks(registration=Registration("databases.example.com"))
    webhooks.validate(Database, check)
    return webhooks


controller = Controller(
    reconcile=reconcile,
    for_=Database,
    owns=[StatefulSet, Service, Secret, CronJob],
    reads=[PersistentVolumeClaim],
    finalizers=[Finalizer("example.com/data", remove_data)],
)


async def main() -> None:
    async with Client(load_config()) as client:
        manager = Manager(client, name="databases", webhooks=build_webhooks())
        manager.add(controller)
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main())
