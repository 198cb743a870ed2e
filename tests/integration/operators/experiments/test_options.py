"""Options of an experiment that change its course."""

import msgspec
from tests.integration.operators.experiments.world import (
    SETTINGS,
    experiment,
    hub,
    running,
    target,
)

from quarterdeck.app import definitions
from quarterdeck.meta.objects import build_owner_reference, get_raw
from quarterdeck.operators.experiments.cluster_types import load_cluster_types
from quarterdeck.operators.experiments.foreign import ArgoApplication, ArgoWorkflow, GKECluster
from quarterdeck.operators.experiments.simulators.clusters import build_kubeconfig

HANG = {"sim.illm.io/workflow-fail": "hang"}


async def test_ordered_provisioning_requests_clusters_one_level_after_the_other() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(
            experiment(
                "order",
                target("b", "gke", "web", depends=["a"]),
                target("a", "gke", "web"),
                provisioning="Ordered",
                annotations={"sim.illm.io/a-cluster-delay": "300ms"},
            )
        )
        await world.until(
            "order",
            lambda each: len(each.status.targets) == 2 and bool(each.status.targets[1].created_at),
        )
        requested = await world.client.list(GKECluster, "experiments")
        assert [each.metadata.name for each in requested] == ["order-a"]
        done = await world.cleaned("order")
        assert done.status.phase == "Complete", done.status
        first, second = done.status.targets[1], done.status.targets[0]
        assert first.ready_at <= second.created_at


async def test_an_application_is_created_per_layer() -> None:
    async with running() as world:
        await world.template("smoke")
        for name in ("one", "two"):
            await world.component(name)
        observed = {"enabled": True, "transport": "tailscale"}
        await world.create(
            experiment(
                "merged",
                target(
                    "app",
                    "gke",
                    "one",
                    "two",
                    applications="PerTarget",
                    observability=observed,
                ),
                annotations=HANG,
            )
        )
        found = await world.phase("merged", "Running")
        apps = await world.client.list(ArgoApplication, "argocd")
        assert sorted(each.metadata.name for each in apps) == [
            "merged-app-infra",
            "merged-app-obs",
            "merged-app-workload",
        ]
        assert "Deployment/one" in found.status.targets[0].components
        await world.delete("merged")
        assert await world.leftovers() == []


async def test_relaxed_readiness_accepts_what_is_degraded() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.create(
            experiment(
                "easy",
                target("app", "hub", "web", readiness="Relaxed"),
                annotations={"sim.illm.io/application-fail": "degraded"},
            )
        )
        assert (await world.cleaned("easy")).status.phase == "Complete"


async def test_components_are_found_by_convention_and_inline() -> None:
    async with running() as world:
        await world.template("smoke")
        one = target("app", "hub", "nginx")
        source = {"repoURL": "https://git.example.com/x.git", "path": "deploy/tool"}
        one["components"].append({"config": "tool", "source": source})
        await world.create(
            experiment("found", one, resolution={"fallback": "Convention"}, annotations=HANG)
        )
        found = await world.phase("found", "Running")
        resolved = found.status.targets[0].resolved_components
        assert [(each.name, each.origin) for each in resolved] == [
            ("nginx", "Convention"),
            ("tool", "Inline"),
        ]
        assert resolved[0].sources[0].path == "components/apps/nginx"


async def test_workflow_parameters_know_the_targets() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(
            experiment(
                "args",
                target("app", "gke"),
                workflow={
                    "template": "smoke",
                    "completion": {"mode": "workflow"},
                    "params": {"url": "http://${targets.app.endpoint}/", "n": "${x:-5}"},
                },
                annotations=HANG,
            )
        )
        found = await world.phase("args", "Running")
        workflow = await world.client.get(ArgoWorkflow, "args-validation", "argo-workflows")
        spec = msgspec.json.decode(get_raw(workflow) or b"{}")["spec"]
        given = {each["name"]: each["value"] for each in spec["arguments"]["parameters"]}
        endpoint = found.status.targets[0].endpoint
        assert given == {
            "url": f"http://{endpoint}/",
            "n": "5",
            "experiment-name": "args",
            "app-endpoint": endpoint,
            "app-name": "app",
            "target-endpoint": endpoint,
            "target-name": "app",
        }


async def test_addresses_of_services_reach_dependents_and_the_workflow() -> None:
    """A Service without a component appears late; until then the dependent waits for it."""
    services = [
        {"name": "web", "target": "app", "service": "web", "namespace": "linked", "port": 8080},
        {"name": "late", "target": "app", "service": "late", "namespace": "linked"},
    ]
    async with running() as world:
        await world.template("smoke")
        await world.component("web")
        await world.component("load")
        load = target("load", "hub", "load", depends=["app"])
        load["components"][0]["params"] = {"url": "http://${targets.app.outputs.web}/"}
        await world.create(
            experiment(
                "linked",
                target("app", "hub", "web"),
                load,
                tutorial={"services": services},
                workflow={
                    "template": "smoke",
                    "completion": {"mode": "workflow"},
                    "params": {"late": "${targets.app.outputs.late}"},
                },
                annotations=HANG,
            )
        )
        waiting = await world.until("linked", lambda each: "outputs.late" in each.status.message)
        assert waiting.status.phase == "Ready"
        app = await world.client.get(ArgoApplication, "linked-load-load", "argocd")
        source = msgspec.json.decode(get_raw(app) or b"{}")["spec"]["sources"][0]
        assert source["helm"]["parameters"] == [
            {"name": "url", "value": "http://web.linked.svc:8080/"}
        ]
        service = {"ports": [{"port": 80}], "selector": {"app": "late"}}
        await world.apply(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "late", "namespace": "linked"},
                "spec": service,
            }
        )
        await world.phase("linked", "Running")
        workflow = await world.client.get(ArgoWorkflow, "linked-validation", "argo-workflows")
        spec = msgspec.json.decode(get_raw(workflow) or b"{}")["spec"]
        given = {each["name"]: each["value"] for each in spec["arguments"]["parameters"]}
        assert given["late"] == "late.linked.svc"
        await world.delete("linked")
        assert await world.leftovers() == []


async def test_an_address_that_nobody_offers_is_an_error_of_the_spec() -> None:
    async with running() as world:
        await world.template("smoke")
        workflow = {
            "template": "smoke",
            "completion": {"mode": "workflow"},
            "params": {"url": "${targets.app.outputs.web}"},
        }
        await world.create(experiment("nowhere", workflow=workflow))
        done = await world.cleaned("nowhere")
        assert (done.status.phase, done.status.reason) == ("Failed", "ParameterInvalid")
        assert "spec.workflow.params.url" in done.status.message
        assert "names no Service of spec.tutorial.services on target app" in done.status.message


async def test_a_cluster_wide_template_is_used() -> None:
    async with running() as world:
        await world.apply(
            {
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "ClusterWorkflowTemplate",
                "metadata": {"name": "everywhere"},
                "spec": {"templates": [{"name": "main", "container": {"image": "k6"}}]},
            }
        )
        workflow = {
            "template": "everywhere",
            "completion": {"mode": "workflow"},
            "clusterScope": True,
        }
        await world.create(experiment("wide", workflow=workflow))
        assert (await world.cleaned("wide")).status.phase == "Complete"


async def test_a_template_whose_arguments_are_missing_is_an_error_of_the_workflow() -> None:
    async with running() as world:
        await world.apply(
            {
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "WorkflowTemplate",
                "metadata": {"name": "smoke", "namespace": "argo-workflows"},
                "spec": {
                    "arguments": {"parameters": [{"name": "needed"}]},
                    "templates": [{"name": "main", "container": {"image": "k6"}}],
                },
            }
        )
        await world.create(experiment("args"))
        done = await world.cleaned("args")
        assert done.status.reason == "WorkflowError"
        assert "needed" in done.status.message


async def test_a_provider_of_other_kinds_is_used() -> None:
    """Requests of a kind the installation names; this test is their provider, without claims."""
    types = load_cluster_types(
        "gke: {apiVersion: platform.example.com/v1, kind: Shelf, plural: shelves,"
        " secretNamespace: '', secretName: '{name}-kubeconfig'}"
    )
    kind = types["gke"].build_kind()
    async with hub(SETTINGS._replace(cluster_types=types)) as world:
        await definitions.install(world.client.raw, [kind])
        async with world.simulators(), world.operator():
            await world.template("smoke")
            await world.create(experiment("other", target("app", "gke")))
            await world.until(
                "other", lambda each: any(one.created_at for one in each.status.targets)
            )
            request = await world.client.get(kind, "other-app", "experiments")
            config = await world.clusters.create("other")
            owner = build_owner_reference(request)
            await world.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {
                        "name": "other-app-kubeconfig",
                        "namespace": "experiments",
                        "ownerReferences": [
                            {
                                "apiVersion": owner.api_version,
                                "kind": owner.kind,
                                "name": owner.name,
                                "uid": owner.uid,
                            }
                        ],
                    },
                    "stringData": {"kubeconfig": build_kubeconfig(config)},
                }
            )
            ready = {"type": "Ready", "status": "True", "reason": "Available"}
            await world.client.patch(
                request, {"status": {"conditions": [ready]}}, subresource="status"
            )
            done = await world.cleaned("other")
            assert done.status.phase == "Complete", done.status
            assert await world.client.list(kind, "experiments") == []
