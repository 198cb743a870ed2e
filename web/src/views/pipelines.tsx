// Pipelines: who gets what, whether it arrived, and how far a change has gone.

import { linkTo } from "../api/objects";
import { type Collector, KINDS, type Pipeline, type PipelineRevision } from "../generated/kinds";
import { type Level, assess } from "../store/health";
import { useObjects } from "../store/live";
import { Badge, Bar, Empty, Facts, HealthBadge, PageHead, Panel, Tags, Time } from "../ui/basics";
import { plural } from "../ui/time";
import { Detail } from "./detail";
import { KindTable } from "./kind-table";

type Delivery = NonNullable<NonNullable<Pipeline["status"]>["delivery"]>;

export function PipelinesView({ namespace, name }: { namespace: string | undefined; name: string | undefined }) {
  if (namespace && name) {
    return (
      <Detail<Pipeline> key={`${namespace}/${name}`} resource={KINDS.Pipeline} namespace={namespace} name={name} crumbs={[["Pipelines", "/pipelines"], [namespace, "/pipelines"]]}>
        {(pipeline) => <PipelinePanels pipeline={pipeline} />}
      </Detail>
    );
  }
  return <List />;
}

function List() {
  const pipelines = useObjects<Pipeline>(KINDS.Pipeline);
  const collectors = useObjects<Collector>(KINDS.Collector);
  return (
    <>
      <PageHead title="Pipelines">
        <span class="muted num">{pipelines.items.length}</span>
      </PageHead>
      <div class="stack">
        <Panel title="Pipelines">
          <KindTable
            live={pipelines}
            label="Pipelines"
            empty={
              <Empty title="No pipeline yet" command="kubectl apply -f config/samples/fleetmanagement_v1alpha1_pipeline.yaml">
                A Pipeline configures the telemetry collectors that its matchers select.
              </Empty>
            }
            cells={[
              { label: "Name", render: (each) => <a href={`/pipelines/${each.metadata.namespace}/${each.metadata.name}`}>{each.metadata.name}</a> },
              { label: "State", render: (each) => <HealthBadge health={assess(each)} /> },
              { label: "Type", render: (each) => each.spec.configType ?? "Alloy" },
              { label: "Matchers", render: (each) => <span class="mono">{(each.spec.matchers ?? []).join(", ") || "all collectors"}</span> },
              { label: "Delivered", render: (each) => <DeliveryBar delivery={each.status?.delivery} /> },
              { label: "Rollout", render: (each) => <RolloutBadge pipeline={each} /> },
              { label: "Updated", render: (each) => <Time at={each.status?.updatedAt ?? each.metadata.creationTimestamp} /> },
            ]}
          />
        </Panel>
        <Panel title="Collectors">
          <KindTable
            live={collectors}
            label="Collectors"
            empty={
              <Empty title="No collector is declared" command="kubectl get collectordiscoveries">
                Collectors register with the fleet server by themselves; a CollectorDiscovery makes them objects here.
              </Empty>
            }
            cells={[
              { label: "Collector", render: (each) => <a href={linkTo(KINDS.Collector, each.metadata.namespace, each.metadata.name)}>{each.status?.name || each.metadata.name}</a> },
              { label: "State", render: (each) => <HealthBadge health={assess(each)} /> },
              { label: "Type", render: (each) => each.status?.collectorType ?? "–" },
              { label: "Gets", render: (each) => (each.status?.pipelines ?? []).join(", ") || <span class="faint">nothing</span> },
              { label: "Config", render: (each) => each.status?.configError || each.status?.configStatus || "–" },
              { label: "Attributes", render: (each) => <Tags labels={each.status?.effectiveRemoteAttributes} /> },
              { label: "Seen", render: (each) => <Time at={each.status?.lastPing} /> },
            ]}
          />
        </Panel>
      </div>
    </>
  );
}

function DeliveryBar({ delivery }: { delivery: Delivery | undefined }) {
  const assigned = delivery?.assigned ?? 0;
  if (!delivery || assigned === 0) return <span class="faint">no collector matches</span>;
  const counts: Record<Level, number> = { ok: delivery.applied ?? 0, busy: delivery.applying ?? 0, warn: delivery.stale ?? 0, bad: delivery.failed ?? 0, idle: 0 };
  const text = `${counts.ok} of ${assigned} applied`;
  return (
    <div class="stack tight">
      <span class="num nowrap">{text}</span>
      <Bar counts={counts} label={text} />
    </div>
  );
}

function RolloutBadge({ pipeline }: { pipeline: Pipeline }) {
  const rollout = pipeline.status?.rollout;
  if (!rollout?.phase) return <span class="faint">direct</span>;
  const level: Level = rollout.phase === "RolledBack" ? "bad" : rollout.phase === "Promoted" || rollout.phase === "Direct" ? "ok" : "busy";
  const step = rollout.steps ? ` ${rollout.step ?? 0}/${rollout.steps}` : "";
  return <Badge level={level}>{rollout.phase + step}</Badge>;
}

function PipelinePanels({ pipeline }: { pipeline: Pipeline }) {
  const status = pipeline.status;
  const collectors = useObjects<Collector>(KINDS.Collector, pipeline.metadata.namespace);
  const revisions = useObjects<PipelineRevision>(KINDS.PipelineRevision, pipeline.metadata.namespace);
  const name = status?.name ?? pipeline.metadata.name;
  const receivers = { ...collectors, items: collectors.items.filter((each) => (each.status?.pipelines ?? []).includes(name)) };
  const own = { ...revisions, items: revisions.items.filter((each) => each.spec.pipeline === name || each.spec.pipelineId === status?.id) };
  return (
    <div class="columns">
      <Panel class="span-4" title="Delivery">
        <div class="body stack">
          <DeliveryBar delivery={status?.delivery} />
          <Facts
            rows={[
              ["Matchers", <span class="mono">{(pipeline.spec.matchers ?? []).join(", ") || "all collectors"}</span>],
              ["Fleet server", status?.connection],
              ["Pipeline ID", status?.id],
              ["Revision", status?.revisionId],
              ["Failures", (status?.delivery?.failures ?? []).join(", ")],
              ["Conflicts", (status?.delivery?.conflicts ?? []).join(", ")],
            ]}
          />
        </div>
      </Panel>
      <Panel class="span-4" title="Blast radius">
        <div class="body">
          {status?.impact ? (
            <Facts
              rows={[
                ["Collectors", status.impact.collectors],
                ["Gain it", status.impact.gain],
                ["Lose it", status.impact.lose],
                ["Change", status.impact.change],
                ["For example", (status.impact.sample ?? []).join(", ")],
              ]}
            />
          ) : (
            <p class="muted">No change is waiting. A pending change shows here how many collectors it reaches.</p>
          )}
        </div>
      </Panel>
      <Canary pipeline={pipeline} />
      <Panel class="span-6" title="Who gets it">
        <KindTable
          live={receivers}
          label="Collectors"
          empty={<Empty title={`${plural(status?.delivery?.assigned ?? 0, "collector")} assigned`}>Collectors that are declared as objects are listed here.</Empty>}
          cells={[
            { label: "Collector", render: (each) => <a href={linkTo(KINDS.Collector, each.metadata.namespace, each.metadata.name)}>{each.metadata.name}</a> },
            { label: "Config", render: (each) => each.status?.configError || each.status?.configStatus || "–" },
            { label: "Seen", render: (each) => <Time at={each.status?.lastPing} /> },
          ]}
        />
      </Panel>
      <Panel class="span-6" title="Revisions">
        <KindTable
          live={own}
          label="Revisions"
          empty={<Empty title="No revisions yet" />}
          cells={[
            { label: "Revision", render: (each) => <a href={linkTo(KINDS.PipelineRevision, each.metadata.namespace, each.metadata.name)}>{each.spec.revisionId ?? each.metadata.name}</a> },
            { label: "Operation", render: (each) => each.spec.operation },
            { label: "Created", render: (each) => <Time at={each.spec.createdAt ?? each.metadata.creationTimestamp} /> },
          ]}
        />
      </Panel>
      <Panel class="span-12" title="Contents">
        <pre class="code" tabIndex={0}>{pipeline.spec.contents ?? "From a ConfigMap or a Secret."}</pre>
      </Panel>
    </div>
  );
}

function Canary({ pipeline }: { pipeline: Pipeline }) {
  const rollout = pipeline.status?.rollout;
  const steps = pipeline.spec.rollout?.steps ?? [];
  const current = rollout?.step ?? 0;
  return (
    <Panel class="span-4" title="Canary">
      <div class="body stack">
        {rollout && <RolloutBadge pipeline={pipeline} />}
        {rollout?.message && <p class="muted">{rollout.message}</p>}
        {steps.length > 0 ? (
          <ol class="steps">
            {steps.map((step, index) => (
              <li key={index} class={stepClass(index, current, rollout?.phase)}>
                <strong>{step.weight !== undefined ? `${step.weight} %` : (step.matchers ?? []).join(", ")}</strong>
                {step.duration ?? "until approved"}
              </li>
            ))}
          </ol>
        ) : (
          <p class="muted">Changes go to all collectors at once. Set spec.rollout.steps to roll them out in steps.</p>
        )}
      </div>
    </Panel>
  );
}

function stepClass(index: number, current: number, phase: string | undefined): string {
  if (phase === "Promoted" || index + 1 < current) return "done";
  if (index + 1 > current) return "";
  return phase === "RolledBack" ? "fail" : "now";
}
