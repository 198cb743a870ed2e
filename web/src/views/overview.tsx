// What needs attention, across all five systems; then how each of them is; then what happened.

import { type KubeEvent, type KubeObject, type Resource, compareEvents, eventTime, linkTo } from "../api/objects";
import { type Application, type Experiment, type Fleet, KINDS, type Pipeline } from "../generated/kinds";
import { useResources, findResource } from "../store/discovery";
import { type Health, type Level, assess, assessCluster, countLevels } from "../store/health";
import { useClusters } from "../store/hub";
import { type Live, useObjects } from "../store/live";
import { Badge, Bar, Empty, HealthBadge, Loading, PageHead, Panel, Time } from "../ui/basics";
import { Icon } from "../ui/icons";
import { plural } from "../ui/time";
import { viewOf } from "./links";

const EVENTS: Resource = { group: "", version: "v1", resource: "events", kind: "Event", namespaced: true };
const SHOWN_EVENTS = 12;

interface Attention {
  key: string;
  to: string;
  kind: string;
  name: string;
  health: Health;
  /** Whether the time is that of the last check: the hub does not list since when it is so. */
  isChecked?: boolean;
}

export function Overview() {
  const { clusters, registries, state, message } = useClusters();
  const applications = useObjects<Application>(KINDS.Application);
  const pipelines = useObjects<Pipeline>(KINDS.Pipeline);
  const fleets = useObjects<Fleet>(KINDS.Fleet);
  const claims = useObjects(KINDS.MachineClaim);
  const hypervisors = useObjects(KINDS.HypervisorCluster);
  const experiments = useObjects<Experiment>(KINDS.Experiment);
  const sources = useObjects(KINDS.MetricSource);
  const all = [
    ...clusters.map((cluster): Attention => ({
      key: `cluster ${cluster.name}`,
      to: `/clusters/${encodeURIComponent(cluster.name)}`,
      kind: "Cluster",
      name: cluster.spec?.displayName || cluster.name,
      health: {
        level: assessCluster(cluster.status?.health),
        label: cluster.status?.health ?? "unknown",
        message: cluster.status?.message ?? "",
        since: cluster.status?.last_check ?? "",
      },
      isChecked: true,
    })),
    ...registries.map((registry): Attention => ({
      key: `registry ${registry.name}`,
      to: "/clusters?tab=registries",
      kind: "Registry",
      name: registry.spec?.display_name || registry.name,
      health: {
        level: registry.status?.available === false ? "bad" : "ok",
        label: registry.status?.available === false ? "Unavailable" : "Available",
        message: registry.status?.error ?? "",
        since: registry.status?.last_check ?? "",
      },
      isChecked: true,
    })),
    ...[
      [KINDS.Application, applications] as const,
      [KINDS.Pipeline, pipelines] as const,
      [KINDS.Fleet, fleets] as const,
      [KINDS.MachineClaim, claims] as const,
      [KINDS.HypervisorCluster, hypervisors] as const,
      [KINDS.Experiment, experiments] as const,
      [KINDS.MetricSource, sources] as const,
    ].flatMap(([kind, live]) => list(kind, live as Live<KubeObject>)),
  ];
  const attention = all.filter(({ health }) => health.level === "bad" || health.level === "warn");
  const moving = all.filter(({ health }) => health.level === "busy");
  attention.sort((a, b) => rank(a.health.level) - rank(b.health.level) || a.name.localeCompare(b.name));
  const lists = [applications, pipelines, fleets, claims, hypervisors, experiments, sources];
  const isLoading = state === "loading" || lists.some((live) => live.load === "loading");
  const problem = state === "failed" ? message : lists.find((live) => live.load === "failed")?.message;
  return (
    <>
      <PageHead title="Overview" />
      <div class="stack">
        <div class="tiles">
          <Tile
            to="/clusters"
            icon="clusters"
            label="Clusters"
            levels={clusters.map((each) => assessCluster(each.status?.health))}
            note={`${plural(sum(clusters, (each) => each.metrics?.nodes), "node")}, ${plural(sum(clusters, (each) => each.metrics?.pods), "pod")}`}
          />
          <Tile
            to="/applications"
            icon="applications"
            label="Applications"
            isHidden={applications.load === "forbidden"}
            levels={applications.items.map((each) => assess(each).level)}
            note={`${sum(applications.items, (each) => each.status?.readyReplicas)} of ${plural(sum(applications.items, (each) => each.status?.replicas), "replica")} ready`}
          />
          <Tile
            to="/pipelines"
            icon="pipelines"
            label="Pipelines"
            isHidden={pipelines.load === "forbidden"}
            levels={pipelines.items.map((each) => assess(each).level)}
            note={`${sum(pipelines.items, (each) => each.status?.delivery?.applied)} of ${sum(pipelines.items, (each) => each.status?.delivery?.assigned)} delivered`}
          />
          <Tile
            to="/machines"
            icon="machines"
            label="Machines"
            isHidden={claims.load === "forbidden"}
            levels={claims.items.map((each) => assess(each).level)}
            note={`${plural(fleets.items.length, "fleet")}, ${plural(hypervisors.items.length, "hypervisor")}`}
          />
          <Tile
            to="/experiments"
            icon="experiments"
            label="Experiments"
            isHidden={experiments.load === "forbidden"}
            levels={experiments.items.map((each) => assess(each).level)}
            note={`${experiments.items.filter((each) => assess(each).level === "busy").length} running`}
          />
        </div>
        <div class="columns">
          <div class="span-8 stack">
          <Panel title={attention.length ? `${plural(attention.length, "thing")} that ${attention.length === 1 ? "needs" : "need"} attention` : "Needs attention"}>
            {problem !== undefined && <p class="body notice bad">Not everything can be read: {problem}</p>}
            {attention.length ? <AttentionList items={attention} /> : isLoading ? <Loading /> : problem === undefined && <AllWell hasAny={clusters.length + applications.items.length + claims.items.length > 0} />}
          </Panel>
          <Panel title="In progress">
            {moving.length ? <AttentionList items={moving} /> : <p class="body muted">Nothing is being rolled out, provisioned or deleted.</p>}
          </Panel>
          </div>
          <RecentEvents />
        </div>
      </div>
    </>
  );
}

function list(kind: Resource, live: Live<KubeObject>): Attention[] {
  return live.items.map((object) => ({
    key: object.metadata.uid,
    to: viewOf(kind, object.metadata.namespace, object.metadata.name) ?? linkTo(kind, object.metadata.namespace, object.metadata.name),
    kind: kind.kind,
    name: `${object.metadata.namespace}/${object.metadata.name}`,
    health: assess(object),
  }));
}

function AttentionList({ items }: { items: Attention[] }) {
  return (
    <ul class="list" >
      {items.slice(0, 100).map((item) => (
        <li key={item.key}>
          <HealthBadge health={item.health} />
          <div class="what">
            <a href={item.to}>
              <span class="faint">{item.kind}</span> {item.name}
            </a>
            {item.health.message && <p>{item.health.message}</p>}
          </div>
          <span class="when">
            {item.isChecked && "checked "}
            <Time at={item.health.since} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function AllWell({ hasAny }: { hasAny: boolean }) {
  if (hasAny) return <Empty title="All is well">Nothing is unhealthy, failed or waiting for you. Failures appear here as they happen.</Empty>;
  return (
    <Empty title="Nothing is declared yet" command="make run ARGS=--demo">
      Apply the samples to see all five systems at work, or start again with a demo.
    </Empty>
  );
}

function RecentEvents() {
  const events = useObjects<KubeEvent>(EVENTS);
  const resources = useResources();
  const newest = events.items.sort(compareEvents).slice(0, SHOWN_EVENTS);
  return (
    <Panel class="span-4" title="Recent events">
      {events.load === "loading" ? (
        <Loading />
      ) : newest.length === 0 ? (
        <Empty title={events.load === "forbidden" ? "Events are not shown to you" : "No events yet"} />
      ) : (
        <ul class="list">
          {newest.map((event) => {
            const about = event.involvedObject;
            const resource = findResource(resources, about.apiVersion ?? "", about.kind);
            const label = `${about.kind} ${about.name}`;
            return (
              <li key={event.metadata.uid}>
                <div class="what">
                  <div class="row">
                    {event.type === "Warning" && <Badge level="warn">Warning</Badge>}
                    <strong class="truncate">{event.reason}</strong>
                  </div>
                  {resource ? <a href={viewOf(resource, about.namespace, about.name) ?? linkTo(resource, about.namespace, about.name)}>{label}</a> : label}
                  <p>{event.message}</p>
                </div>
                <span class="when">
                  <Time at={eventTime(event)} />
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}

function Tile(props: { to: string; icon: string; label: string; levels: Level[]; note: string; isHidden?: boolean }) {
  const counts = countLevels(props.levels);
  const total = props.levels.length;
  const text = `${counts.ok} of ${total} well`;
  return (
    <a class="panel tile" href={props.to}>
      <span class="label">
        <Icon name={props.icon} />
        {props.label}
      </span>
      <span class="figure">
        {counts.ok}
        <small> / {total}</small>
      </span>
      <Bar counts={counts} label={text} />
      <span class="note">{total ? props.note : props.isHidden ? "Not shown to you" : "None yet"}</span>
    </a>
  );
}

function rank(level: Level): number {
  return level === "bad" ? 0 : 1;
}

function sum<Item>(items: Item[], value: (item: Item) => number | undefined): number {
  return items.reduce((total, item) => total + (value(item) ?? 0), 0);
}
