//! The life of some objects by kube-rs: create, apply, patch, watch, conflict, custom kinds, delete.
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{watcher, WatchStreamExt};
use kube::{discovery, Client, Error};
use serde_json::json;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let client = Client::try_default().await?;
    let version = client.apiserver_version().await?;
    assert!(version.major == "1", "{version:?}");
    config_maps(client.clone()).await?;
    apply_deployment(client.clone()).await?;
    custom_kind(client).await?;
    println!("ok");
    Ok(())
}

async fn config_maps(client: Client) -> Outcome {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let settings = watcher::Config::default().fields("metadata.name=rust");
    let mut changes = Box::pin(watcher(maps.clone(), settings).applied_objects());
    let wanted: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": "rust", "labels": {"by": "rust"}}, "data": {"a": "1"},
    }))?;
    let made = maps.create(&PostParams::default(), &wanted).await?;
    let again = maps.create(&PostParams::default(), &wanted).await;
    assert!(matches!(again, Err(Error::Api(e)) if e.code == 409 && e.reason == "AlreadyExists"));
    let patch = Patch::Merge(json!({"data": {"b": "2"}}));
    maps.patch("rust", &PatchParams::default(), &patch).await?;
    let stale = maps.replace("rust", &PostParams::default(), &made).await;
    assert!(matches!(stale, Err(Error::Api(e)) if e.code == 409 && e.reason == "Conflict"));
    while let Some(seen) = changes.try_next().await? {
        if seen.data.is_some_and(|data| data.contains_key("b")) {
            break;
        }
    }
    let listed = maps.list(&ListParams::default().labels("by=rust").limit(1)).await?;
    assert_eq!(listed.items.len(), 1);
    let uid = listed.items[0].metadata.uid.clone().expect("a uid");
    maps.delete("rust", &DeleteParams::default()).await?;
    let gone = await_condition(maps, "rust", conditions::is_deleted(&uid));
    tokio::time::timeout(Duration::from_secs(60), gone).await??;
    Ok(())
}

async fn apply_deployment(client: Client) -> Outcome {
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let document = |replicas: i32| {
        Patch::Apply(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "rust"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "rust"}},
                "template": {
                    "metadata": {"labels": {"app": "rust"}},
                    "spec": {"containers": [{"name": "main", "image": "busybox"}]},
                },
            },
        }))
    };
    let ours = PatchParams::apply("ours");
    deployments.patch("rust", &ours, &document(1)).await?;
    let theirs = deployments.patch("rust", &PatchParams::apply("theirs"), &document(2)).await;
    assert!(matches!(theirs, Err(Error::Api(e)) if e.code == 409));
    let forced = deployments.patch("rust", &PatchParams::apply("theirs").force(), &document(2)).await?;
    assert_eq!(forced.spec.and_then(|spec| spec.replicas), Some(2));
    assert_eq!(deployments.get_scale("rust").await?.spec.and_then(|spec| spec.replicas), Some(2));
    deployments.delete("rust", &DeleteParams::foreground()).await?;
    Ok(())
}

async fn custom_kind(client: Client) -> Outcome {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = serde_json::from_value(json!({
        "metadata": {"name": "gears.rust.example.com"},
        "spec": {
            "group": "rust.example.com", "scope": "Namespaced",
            "names": {"kind": "Gear", "plural": "gears", "singular": "gear"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["teeth"], "properties": {
                        "teeth": {"type": "integer", "minimum": 1}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
            }],
        },
    }))?;
    definitions.create(&PostParams::default(), &definition).await?;
    let ready = await_condition(definitions.clone(), "gears.rust.example.com", conditions::is_crd_established());
    tokio::time::timeout(Duration::from_secs(60), ready).await??;
    let group = discovery::pinned_group(&client, &kube::core::GroupVersion::gv("rust.example.com", "v1")).await?;
    let (kind, _) = group.recommended_kind("Gear").expect("the kind is discovered");
    let gears: Api<DynamicObject> = Api::default_namespaced_with(client, &kind);
    let gear = |teeth: i32| {
        serde_json::from_value::<DynamicObject>(json!({
            "apiVersion": "rust.example.com/v1", "kind": "Gear",
            "metadata": {"name": "small"}, "spec": {"teeth": teeth},
        }))
    };
    let refused = gears.create(&PostParams::default(), &gear(0)?).await;
    assert!(matches!(refused, Err(Error::Api(e)) if e.code == 422 && e.reason == "Invalid"));
    gears.create(&PostParams::default(), &gear(12)?).await?;
    let status = Patch::Merge(json!({"status": {"turning": true}}));
    let turned = gears.patch_status("small", &PatchParams::default(), &status).await?;
    assert_eq!(turned.data["status"]["turning"], json!(true));
    let mut seen = Box::pin(watcher(gears, watcher::Config::default()).default_backoff().applied_objects());
    assert!(seen.next().await.is_some());
    definitions.delete("gears.rust.example.com", &DeleteParams::default()).await?;
    Ok(())
}
