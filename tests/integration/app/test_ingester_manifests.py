"""Manifests of the ingester: an API server takes them, and they fit the settings' defaults."""

from pathlib import Path

from quarterdeck.app import definitions, ingester_manifests
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.component_manifests import build_component_patches, build_components
from quarterdeck.app.installation import DEFAULT_INSTALLATION, LABELS
from quarterdeck.app.manifests import build_manager, build_namespace
from quarterdeck.app.resolution import list_fields
from quarterdeck.client.interfaces import PatchType
from quarterdeck.kit import json
from quarterdeck.meta.identity import GVR
from quarterdeck.wire.path import ResourcePath


async def test_an_api_server_takes_the_manifests_and_the_patch() -> None:
    async with Cluster() as cluster:
        api = cluster.client.raw
        documents = [
            build_namespace(DEFAULT_INSTALLATION),
            *build_components(DEFAULT_INSTALLATION)["ingester"].values(),
        ]
        await definitions.apply(api, [*documents, build_manager(DEFAULT_INSTALLATION)["manager"]])
        patch = build_component_patches(DEFAULT_INSTALLATION)["ingester"]["manager_ingester"]
        name = patch["metadata"]["name"]
        deployments = cluster.client.resource(GVR("apps", "v1", "deployments"))
        changed = await deployments.patch(
            name, dict(patch), namespace=DEFAULT_INSTALLATION.namespace, kind=PatchType.STRATEGIC
        )
        volumes = changed["spec"]["template"]["spec"]["volumes"]
        assert {"tmp", "ingester-tls"} <= {each["name"] for each in volumes}
        path = ResourcePath(
            "", "v1", "services", DEFAULT_INSTALLATION.namespace, ingester_manifests.NAME
        )
        service = json.decode(await api.get(path))
        assert service["spec"]["selector"] == LABELS


def test_the_service_the_certificate_and_the_authority_are_those_of_the_defaults() -> None:
    settings = Settings()
    assert settings.ingester_service_name == ingester_manifests.NAME
    assert settings.collector_ca_configmap == ingester_manifests.AUTHORITY_MAP
    patch = build_component_patches(DEFAULT_INSTALLATION)["ingester"]["manager_ingester"]
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    (mount,) = container["volumeMounts"]
    assert mount["mountPath"] == str(Path(settings.ingester_tls_cert).parent)
    assert mount["mountPath"] == str(Path(settings.ingester_tls_key).parent)
    known = {name for field in list_fields() for name in field.option.env}
    assert {each["name"] for each in container["env"]} <= known
    (port,) = container["ports"]
    service = build_components(DEFAULT_INSTALLATION)["ingester"]["service"]
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]


async def test_an_api_server_takes_the_ingester_with_a_deployment_of_its_own() -> None:
    name = "ingester-deployment"
    documents = build_components(DEFAULT_INSTALLATION)[name]
    async with Cluster() as cluster:
        api = cluster.client.raw
        await definitions.apply(
            api,
            [
                build_namespace(DEFAULT_INSTALLATION),
                *documents.values(),
                build_manager(DEFAULT_INSTALLATION)["manager"],
            ],
        )
    kinds = {each["kind"] for each in documents.values()}
    assert {"Deployment", "Service", "ServiceAccount", "NetworkPolicy"} <= kinds
    pod = documents["deployment"]["spec"]["template"]
    assert documents["service"]["spec"]["selector"] == pod["metadata"]["labels"]
    (container,) = pod["spec"]["containers"]
    known = {each for field in list_fields() for each in field.option.env}
    patch = build_component_patches(DEFAULT_INSTALLATION)[name]["manager_ingester"]
    (patched,) = patch["spec"]["template"]["spec"]["containers"]
    assert {each["name"] for each in (*container["env"], *patched["env"])} <= known
    policy = documents["network_policy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == pod["metadata"]["labels"]
    rights = [(rule["resources"], rule["verbs"]) for rule in documents["role"]["rules"]]
    assert rights == [(["tokenreviews"], ["create"]), (["subjectaccessreviews"], ["create"])]
