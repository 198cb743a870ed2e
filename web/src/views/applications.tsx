// Applications: the rollout of each, and what it runs.

import { type KubeObject, type Resource, linkTo } from "../api/objects";
import { type Application, KINDS } from "../generated/kinds";
import { assess, levelOf } from "../store/health";
import { useObjects } from "../store/live";
import { Badge, Bar, Empty, Facts, HealthBadge, PageHead, Panel, Time } from "../ui/basics";
import { Detail } from "./detail";
import { KindTable } from "./kind-table";

const PODS: Resource = { group: "", version: "v1", resource: "pods", kind: "Pod", namespaced: true };

interface Pod extends KubeObject {
  spec: { nodeName?: string; containers?: { image?: string }[] };
  status?: { phase?: string; podIP?: string; containerStatuses?: { restartCount?: number; ready?: boolean }[] };
}

export function ApplicationsView({ namespace, name }: { namespace: string | undefined; name: string | undefined }) {
  if (namespace && name) {
    return (
      <Detail<Application> key={`${namespace}/${name}`} resource={KINDS.Application} namespace={namespace} name={name} crumbs={[["Applications", "/applications"], [namespace, "/applications"]]}>
        {(application) => <Rollout application={application} />}
      </Detail>
    );
  }
  return <List />;
}

function List() {
  const live = useObjects<Application>(KINDS.Application);
  return (
    <>
      <PageHead title="Applications">
        <span class="muted num">{live.items.length}</span>
      </PageHead>
      <Panel>
        <KindTable
          live={live}
          label="Applications"
          empty={
            <Empty title="No application yet" command="kubectl apply -f config/samples/cloudnative_v1_application_my-app.yaml">
              An Application keeps a container image running, with its settings and its Service.
            </Empty>
          }
          cells={[
            { label: "Name", render: (each) => <a href={`/applications/${each.metadata.namespace}/${each.metadata.name}`}>{each.metadata.name}</a> },
            { label: "Namespace", render: (each) => <span class="muted">{each.metadata.namespace}</span> },
            { label: "State", render: (each) => <HealthBadge health={assess(each)} /> },
            { label: "Ready", isNumber: true, render: (each) => `${each.status?.readyReplicas ?? 0}/${each.spec.replicas ?? 1}` },
            { label: "Image", render: (each) => <span class="mono">{each.spec.image}</span> },
            { label: "Message", render: (each) => <span class="muted">{assess(each).message}</span> },
            { label: "Age", render: (each) => <Time at={each.metadata.creationTimestamp} /> },
          ]}
        />
      </Panel>
    </>
  );
}

function Rollout({ application }: { application: Application }) {
  const wanted = application.spec.replicas ?? 1;
  const ready = application.status?.readyReplicas ?? 0;
  const selector = application.status?.labelSelector ?? `cloudnative.elide.dev/application=${application.metadata.name}`;
  const pods = useObjects<Pod>(PODS, application.metadata.namespace, `labelSelector=${encodeURIComponent(selector)}`);
  const counts = { ok: Math.min(ready, wanted), busy: Math.max(0, wanted - ready), warn: 0, bad: 0, idle: 0 };
  return (
    <div class="columns">
      <Panel class="span-4" title="Rollout">
        <div class="body stack">
          <div class="stack tight">
            <strong class="num" data-testid="ready">
              {ready} of {wanted} replicas ready
            </strong>
            <Bar counts={counts} label={`${ready} of ${wanted} ready`} />
          </div>
          <Facts
            rows={[
              ["Image", <span class="mono">{application.spec.image}</span>],
              ["Strategy", application.spec.strategy],
              ["Runs", application.spec.runPolicy],
              ["Ports", (application.spec.ports ?? []).map((port) => `${port.name ?? ""} ${port.port}`).join(", ")],
              ["Generation", `${application.status?.observedGeneration ?? "–"} of ${application.metadata.generation ?? "–"} observed`],
            ]}
          />
        </div>
      </Panel>
      <Panel class="span-8" title="Pods">
        <KindTable
          live={pods}
          label="Pods"
          empty={<Empty title="No pods">A one-shot application that has finished has none, nor has one with 0 replicas.</Empty>}
          cells={[
            { label: "Pod", render: (pod) => <a href={linkTo(PODS, pod.metadata.namespace, pod.metadata.name)}>{pod.metadata.name}</a> },
            { label: "Phase", render: (pod) => <Badge level={levelOf(pod.status?.phase ?? "") ?? "busy"}>{pod.status?.phase ?? "Pending"}</Badge> },
            { label: "Restarts", isNumber: true, render: (pod) => (pod.status?.containerStatuses ?? []).reduce((sum, each) => sum + (each.restartCount ?? 0), 0) },
            { label: "Node", render: (pod) => pod.spec.nodeName ?? "–" },
            { label: "Age", render: (pod) => <Time at={pod.metadata.creationTimestamp} /> },
          ]}
        />
      </Panel>
    </div>
  );
}
