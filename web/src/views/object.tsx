// One object of any kind: what it says, what happened, whom it belongs to, and why it is so.

import { useState } from "preact/hooks";
import { getJson, request } from "../api/http";
import { type KubeObject, type Resource, conditionsOf, linkTo, pathOf } from "../api/objects";
import { mayI } from "../api/session";
import { navigate, usePlace } from "../router";
import { useAsync } from "../store/async";
import { useResources } from "../store/discovery";
import { assess, assessCondition } from "../store/health";
import { useObject } from "../store/live";
import { Badge, Empty, Facts, HealthBadge, Loading, PageHead, Panel, Tabs, Tags, Time } from "../ui/basics";
import { Yaml } from "../ui/yaml";
import { Editor } from "./object-editor";
import { ObjectEvents } from "./object-events";
import { Owners } from "./object-owners";
import { Why } from "./object-why";
import { viewOf } from "./links";

const TABS = [
  ["summary", "Summary"],
  ["yaml", "YAML"],
  ["events", "Events"],
  ["owners", "Owners"],
  ["why", "Why"],
  ["edit", "Edit"],
] as const;

export function ObjectView({ parts }: { parts: string[] }) {
  const [group, version, name, space, objectName] = parts as [string, string, string, string, string];
  const resources = useResources();
  const resource = resources.find((each) => (each.group || "core") === group && each.resource === name);
  if (!resource) {
    if (resources.length === 0) return <Loading />;
    return <Empty title={`No kind ${name}.${group} in version ${version}`}>It is not installed, or you are not allowed to list it.</Empty>;
  }
  return <ObjectPage resource={resource} namespace={space === "-" ? "" : space} name={objectName} />;
}

function ObjectPage({ resource, namespace, name }: { resource: Resource; namespace: string; name: string }) {
  const { query } = usePlace();
  const tab = query.get("tab") ?? "summary";
  const live = useObject(resource, namespace, name);
  const object = live.items[0];
  const rights = useAsync(
    async () => ({
      update: (resource.verbs ?? []).includes("update") && (await mayI("update", resource, namespace, name)),
      delete: (resource.verbs ?? []).includes("delete") && (await mayI("delete", resource, namespace, name)),
    }),
    [resource, namespace, name],
  ).value;
  const here = linkTo(resource, namespace, name);
  const list = `/objects/${resource.group || "core"}/${resource.version}/${resource.resource}`;
  const view = viewOf(resource, namespace, name);
  return (
    <>
      <PageHead
        title={<span class="mono">{name}</span>}
        crumbs={[["Objects", "/objects"], [resource.kind, list], ...(namespace ? [[namespace, `${list}?namespace=${encodeURIComponent(namespace)}`] as [string, string]] : [])]}
        actions={
          <>
            {view && (
              <a class="button" href={view}>
                Open its view
              </a>
            )}
            {object && rights?.delete && <DeleteButton resource={resource} object={object} back={list} />}
          </>
        }
      >
        {object && <HealthBadge health={assess(object)} />}
      </PageHead>
      {!object ? (
        <Missing load={live.load} message={live.message} resource={resource} name={name} />
      ) : (
        <>
          <Tabs current={tab} tabs={TABS.filter(([id]) => id !== "edit" || rights?.update).map(([id, label]) => ({ id, label, to: id === "summary" ? here : `${here}?tab=${id}` }))} />
          <Body tab={tab} resource={resource} object={object} />
        </>
      )}
    </>
  );
}

function Body({ tab, resource, object }: { tab: string; resource: Resource; object: KubeObject }) {
  switch (tab) {
    case "yaml":
      return <YamlPanel resource={resource} object={object} />;
    case "events":
      return <ObjectEvents object={object} />;
    case "owners":
      return <Owners resource={resource} object={object} />;
    case "why":
      return <Why resource={resource} object={object} />;
    case "edit":
      return <Editor resource={resource} object={object} />;
    default:
      return <Summary object={object} />;
  }
}

function Missing({ load, message, resource, name }: { load: string; message: string; resource: Resource; name: string }) {
  if (load === "loading") return <Loading />;
  if (load === "forbidden") return <Empty title={`Reading ${resource.resource} here is forbidden`}>{message}</Empty>;
  return <Empty title={`${resource.kind} ${name} not found`}>It was deleted, or it was never created. This page shows it as soon as it exists.</Empty>;
}

export function Summary({ object }: { object: KubeObject }) {
  const meta = object.metadata;
  return (
    <div class="columns">
      <Panel class="span-6" title="Identity">
        <div class="body">
          <Facts
            rows={[
              ["Kind", `${object.kind ?? ""} ${object.apiVersion ?? ""}`],
              ["Namespace", meta.namespace],
              ["Created", <Time at={meta.creationTimestamp} />],
              ["Generation", meta.generation],
              ["Version", <span class="mono">{meta.resourceVersion}</span>],
              ["UID", <span class="mono">{meta.uid}</span>],
              ["Labels", <Tags labels={meta.labels} />],
            ]}
          />
        </div>
      </Panel>
      <Conditions object={object} />
    </div>
  );
}

export function Conditions({ object, class: extra = "span-6" }: { object: KubeObject; class?: string }) {
  const conditions = conditionsOf(object);
  return (
    <Panel class={extra} title="Conditions">
      {conditions.length === 0 ? (
        <Empty title="No conditions">No controller has reported on this object.</Empty>
      ) : (
        <ul class="list">
          {conditions.map((each) => (
            <li key={each.type}>
              <Badge level={assessCondition(each)}>{each.status}</Badge>
              <div class="what">
                <strong>{each.type}</strong> <span class="faint">{each.reason}</span>
                {each.message && <p>{each.message}</p>}
              </div>
              <span class="when">
                <Time at={each.lastTransitionTime} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function YamlPanel({ resource, object }: { resource: Resource; object: KubeObject }) {
  const [revealed, setRevealed] = useState<KubeObject | null>(null);
  const [hasManaged, setManaged] = useState(false);
  const isSecret = resource.group === "" && resource.resource === "secrets";
  const shown = revealed ?? object;
  const { managedFields, ...metadata } = shown.metadata;
  const reveal = async () => setRevealed(await getJson<KubeObject>(`/k8s${pathOf(resource, object.metadata.namespace, object.metadata.name)}?reveal=true`));
  return (
    <Panel
      title="YAML"
      actions={
        <>
          {isSecret && (
            <button type="button" class="button small" onClick={() => (revealed ? setRevealed(null) : void reveal())}>
              {revealed ? "Hide values" : "Show values"}
            </button>
          )}
          <label class="row">
            <input type="checkbox" checked={hasManaged} onChange={() => setManaged(!hasManaged)} /> managed fields
          </label>
        </>
      }
    >
      <Yaml value={hasManaged ? shown : { ...shown, metadata: managedFields ? metadata : shown.metadata }} />
    </Panel>
  );
}

function DeleteButton({ resource, object, back }: { resource: Resource; object: KubeObject; back: string }) {
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState("");
  const remove = async () => {
    try {
      const body = JSON.stringify({ propagationPolicy: "Background", preconditions: { uid: object.metadata.uid } });
      await request(`/k8s${pathOf(resource, object.metadata.namespace, object.metadata.name)}`, { method: "DELETE", body, headers: { "Content-Type": "application/json" } });
      navigate(back);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <>
      <button type="button" class="button danger" onClick={() => setAsking(true)}>
        Delete
      </button>
      {isAsking && (
        <dialog ref={openDialog} onClose={() => setAsking(false)} aria-label="Delete">
          <div class="stack">
            <h2>
              Delete {resource.kind} {object.metadata.name}?
            </h2>
            <p class="muted">Objects that it owns are deleted with it.</p>
            {problem && <p class="notice bad">{problem}</p>}
            <div class="row">
              <button type="button" class="button danger" onClick={() => void remove()}>
                Delete
              </button>
              <button type="button" class="button" onClick={() => setAsking(false)}>
                Keep
              </button>
            </div>
          </div>
        </dialog>
      )}
    </>
  );
}

function openDialog(node: HTMLDialogElement | null): void {
  if (node && !node.open) node.showModal();
}
