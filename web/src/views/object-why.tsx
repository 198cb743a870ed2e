// Why an object is as it is: what woke its controllers, what they read, what they wrote.

import { useState } from "preact/hooks";
import { getJson } from "../api/http";
import { type KubeObject, type Resource, pathOf } from "../api/objects";
import { useAsync } from "../store/async";
import { Badge, Empty, Loading, Panel, Time } from "../ui/basics";
import { formatSeconds, plural } from "../ui/time";

interface Cause {
  event: string;
  kind?: string;
  object?: string;
  oldVersion?: number;
  newVersion?: number;
}

interface Reconcile {
  reconcileID: string;
  startedAt: string;
  causes: Cause[];
  queueWaitSeconds: number;
  durationSeconds: number;
  reads: { kind: string; object: string; version: number; source: string }[];
  writes: { verb: string; kind: string; object: string; version: number; body: string }[];
  outcome: string;
  detail: string;
  nextSeconds: number | null;
  hidden: number;
}

interface Answer {
  controllers: { controller: string; reconciles: Reconcile[] }[];
  message?: string;
}

/** How many reconciles of a controller are shown until somebody asks for all. */
const SHOWN = 5;

export function Why({ resource, object, class: extra }: { resource: Resource; object: KubeObject; class?: string }) {
  const path = pathOf(resource, object.metadata.namespace, object.metadata.name);
  const found = useAsync(() => getJson<Answer>(`/why?path=${encodeURIComponent(path)}`), [path, object.metadata.resourceVersion]);
  const answer = found.value;
  if (!answer) return <Panel class={extra} title="Why">{found.error ? <Empty title="No answer">{found.error.message}</Empty> : <Loading />}</Panel>;
  const controllers = answer.controllers.filter((each) => each.reconciles.length > 0);
  return (
    <div class={`stack ${extra ?? ""}`} data-testid="why">
      {controllers.map((each) => (
        <Reconciles key={each.controller} controller={each.controller} records={each.reconciles} />
      ))}
      {controllers.length === 0 && (
        <Panel title="Why">
          <Empty title="No recorded reconcile">{answer.message ?? "Only recent reconciles of the Quarterdeck operators are kept: another controller manages this kind, or its last reconcile is too old."}</Empty>
        </Panel>
      )}
    </div>
  );
}

function Reconciles({ controller, records }: { controller: string; records: Reconcile[] }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? records : records.slice(0, SHOWN);
  return (
    <Panel title={`Why: controller ${controller}`}>
      <ol class="list">
        {shown.map((record) => (
          <Record key={record.reconcileID} record={record} />
        ))}
      </ol>
      {shown.length < records.length && (
        <div class="body">
          <button type="button" class="button small" onClick={() => setWhole(true)}>
            Show {plural(records.length - shown.length, "earlier reconcile")}
          </button>
        </div>
      )}
    </Panel>
  );
}

function Record({ record }: { record: Reconcile }) {
  const writes = record.writes.filter((write) => write.verb !== "skipped");
  return (
    <li>
      <Badge level={/error|fail/i.test(record.outcome) ? "bad" : "ok"}>{record.outcome}</Badge>
      <div class="what">
        <div>
          took {formatSeconds(record.durationSeconds)}, waited {formatSeconds(record.queueWaitSeconds)}
          {record.nextSeconds !== null && <span class="faint"> · again in {formatSeconds(record.nextSeconds)}</span>}
        </div>
        {record.detail && <p>{record.detail}</p>}
        <Entries label="woken by" items={record.causes.map(describeCause)} />
        <Entries label="read" items={record.reads.map((read) => `${read.kind} ${read.object} at ${read.version} (${read.source})`)} />
        <Entries label="wrote" items={writes.map((write) => `${write.verb} ${write.kind} ${write.object} → ${write.version}`)} />
        {record.hidden > 0 && <p class="faint">{record.hidden} more about objects that you are not allowed to see</p>}
      </div>
      <span class="when">
        <Time at={record.startedAt} />
      </span>
    </li>
  );
}

function Entries({ label, items }: { label: string; items: string[] }) {
  if (items.length === 0) return null;
  return (
    <details open={items.length <= 3}>
      <summary class="muted">
        {label} <span class="faint">({items.length})</span>
      </summary>
      <ul>
        {items.map((item, index) => (
          <li key={index} class="mono">
            {item}
          </li>
        ))}
      </ul>
    </details>
  );
}

function describeCause(cause: Cause): string {
  if (!cause.kind) return cause.event;
  if (!cause.object) return `${cause.event} of ${cause.kind}`;
  return `${cause.kind} ${cause.object} was ${cause.event} (${cause.oldVersion ?? "–"} → ${cause.newVersion ?? "–"})`;
}
