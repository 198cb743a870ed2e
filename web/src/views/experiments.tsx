// Experiments: targets and what depends on what, phases, the workflow, results, comparison.

import { type Experiment, KINDS } from "../generated/kinds";
import { type Level, assess, levelOf } from "../store/health";
import { useObjects } from "../store/live";
import { Badge, Empty, Facts, HealthBadge, PageHead, Panel, Time } from "../ui/basics";
import { Detail } from "./detail";
import { Comparison, took } from "./experiment-comparison";
import { KindTable } from "./kind-table";

const PHASES = ["Pending", "Provisioning", "Ready", "Running", "Complete"];

export function ExperimentsView({ namespace, name }: { namespace: string | undefined; name: string | undefined }) {
  if (namespace && name) {
    return (
      <Detail<Experiment> key={`${namespace}/${name}`} resource={KINDS.Experiment} namespace={namespace} name={name} crumbs={[["Experiments", "/experiments"], [namespace, "/experiments"]]}>
        {(experiment) => <Panels experiment={experiment} />}
      </Detail>
    );
  }
  return <List />;
}

function List() {
  const live = useObjects<Experiment>(KINDS.Experiment);
  return (
    <>
      <PageHead title="Experiments">
        <span class="muted num">{live.items.length}</span>
      </PageHead>
      <Panel>
        <KindTable
          live={live}
          label="Experiments"
          empty={
            <Empty title="No experiment yet" command="quarterdeck experiments run experiments/hello-app.yaml --watch">
              An Experiment makes clusters, deploys to them, runs a workflow, judges its metrics and cleans up.
            </Empty>
          }
          cells={[
            { label: "Name", render: (each) => <a href={`/experiments/${each.metadata.namespace}/${each.metadata.name}`}>{each.metadata.name}</a> },
            { label: "Phase", render: (each) => <HealthBadge health={assess(each)} /> },
            { label: "Description", render: (each) => <span class="muted">{each.spec.description}</span> },
            { label: "Targets", isNumber: true, render: (each) => each.spec.targets.length },
            { label: "Workflow", render: (each) => each.status?.workflowStatus?.phase ?? "–" },
            { label: "Hypothesis", render: (each) => each.status?.hypothesisResult ?? "–" },
            { label: "Took", render: (each) => took(each) },
            { label: "Age", render: (each) => <Time at={each.metadata.creationTimestamp} /> },
          ]}
        />
      </Panel>
    </>
  );
}

function Panels({ experiment }: { experiment: Experiment }) {
  const status = experiment.status;
  const workflow = status?.workflowStatus;
  return (
    <div class="columns">
      <Panel class="span-12" title="Phases">
        <div class="body">
          <Phases experiment={experiment} />
        </div>
      </Panel>
      <Panel class="span-12" title="Targets">
        <div class="body">
          <TargetGraph experiment={experiment} />
        </div>
      </Panel>
      <Panel class="span-6" title="Workflow">
        <div class="body">
          {workflow ? (
            <Facts
              rows={[
                ["Name", <span class="mono">{workflow.name}</span>],
                ["Phase", <Badge level={levelOf(workflow.phase ?? "") ?? "busy"}>{workflow.phase ?? "Pending"}</Badge>],
                ["Progress", workflow.progress],
                ["Started", <Time at={workflow.startedAt} />],
                ["Finished", <Time at={workflow.finishedAt} />],
                ["Message", workflow.message],
                ["Failed steps", (workflow.failedNodes ?? []).map((each) => each.displayName).join(", ")],
              ]}
            />
          ) : (
            <p class="muted">The workflow starts when every target is ready.</p>
          )}
        </div>
      </Panel>
      <Panel class="span-6" title="Results">
        <div class="body">
          <Facts
            rows={[
              ["Hypothesis", status?.hypothesisResult],
              ["Stored at", <span class="mono">{status?.resultsURL}</span>],
              ["Cost", status?.costEstimate?.totalUSD ? `${status.costEstimate.totalUSD} USD` : undefined],
              ["Cleaned up", <Time at={status?.cleanedAt} />],
              ["Outputs", Object.entries(workflow?.outputs ?? {}).map(([key, value]) => `${key} = ${value}`).join(", ")],
            ]}
          />
        </div>
      </Panel>
      <Comparison experiment={experiment} />
    </div>
  );
}

function Phases({ experiment }: { experiment: Experiment }) {
  const phase = experiment.status?.phase ?? "Pending";
  const reached = phase === "Failed" ? reachedBeforeFailure(experiment) : PHASES.indexOf(phase);
  return (
    <ol class="steps" data-testid="phases">
      {PHASES.map((each, index) => (
        <li key={each} class={index < reached || phase === "Complete" ? "done" : index === reached ? (phase === "Failed" ? "fail" : "now") : ""}>
          <strong>{each}</strong>
          {index === reached && <Time at={experiment.status?.phaseStartedAt} />}
        </li>
      ))}
    </ol>
  );
}

function reachedBeforeFailure(experiment: Experiment): number {
  const status = experiment.status;
  if (status?.workflowStatus) return PHASES.indexOf("Running");
  const isProvisioned = (status?.conditions ?? []).some((each) => each.type === "ClustersProvisioned" && each.status === "True");
  return PHASES.indexOf(isProvisioned ? "Ready" : "Provisioning");
}

/** Targets in columns: what depends on something stands to the right of it. */
function TargetGraph({ experiment }: { experiment: Experiment }) {
  const byName = new Map(experiment.spec.targets.map((each) => [each.name, each]));
  const depths = new Map<string, number>();
  const depth = (name: string): number => {
    const known = depths.get(name);
    if (known !== undefined) return known;
    depths.set(name, 0); // so that a cycle, which the operator refuses, ends here too
    const found = Math.max(0, ...(byName.get(name)?.depends ?? []).map((each) => 1 + depth(each)));
    depths.set(name, found);
    return found;
  };
  const columns: string[][] = [];
  for (const name of byName.keys()) (columns[depth(name)] ??= []).push(name);
  const statuses = new Map((experiment.status?.targets ?? []).map((each) => [each.name, each]));
  return (
    <div class="graph" data-testid="targets">
      {columns.map((names, index) => [
        index > 0 && (
          <span key={`arrow ${index}`} class="arrow" aria-label="then">
            →
          </span>
        ),
        <div key={index} class="stack tight">
          {names.map((name) => {
            const target = byName.get(name);
            const status = statuses.get(name);
            const level: Level = status?.phase === "Ready" ? "ok" : status?.phase === "Failed" ? "bad" : "busy";
            return (
              <div key={name} class="node">
                <div class="row">
                  <strong>{name}</strong>
                  <span class="grow" />
                  <Badge level={level}>{status?.phase ?? "Pending"}</Badge>
                </div>
                <div class="muted">
                  {target?.cluster?.type} · {(target?.components ?? []).map((each) => each.app ?? each.workflow ?? each.config).filter(Boolean).join(", ") || "no components"}
                </div>
                {(target?.depends ?? []).length > 0 && <div class="faint">after {target?.depends?.join(", ")}</div>}
                {status?.message && <div class="faint">{status.message}</div>}
              </div>
            );
          })}
        </div>,
      ])}
    </div>
  );
}
