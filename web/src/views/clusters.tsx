// A thousand clusters at a glance, worst first.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { navigate, usePlace, withQuery } from "../router";
import { type Level, assessCluster, countLevels } from "../store/health";
import { type HubCluster, type HubRegistry, useClusters } from "../store/hub";
import { Badge, Empty, Loading, PageHead, Panel, Tabs, Time } from "../ui/basics";
import { plural } from "../ui/time";

const WIDTH = 270;
const HEIGHT = 116;
const GAP = 12;
const ORDER: Record<Level, number> = { bad: 0, warn: 1, busy: 2, idle: 3, ok: 4 };

export function ClustersView() {
  const { query } = usePlace();
  const { clusters, registries, state, message } = useClusters();
  const tab = query.get("tab") ?? "clusters";
  const filter = query.get("filter") ?? "";
  const health = query.get("health") ?? "";
  const counts = countLevels(clusters.map((each) => assessCluster(each.status?.health)));
  const shown = useMemo(() => choose(clusters, filter, health), [clusters, filter, health]);
  return (
    <>
      <PageHead
        title="Clusters"
        actions={
          tab === "clusters" && (
            <>
              <select class="input" aria-label="Health" value={health} onChange={(event) => navigate(withQuery({ health: event.currentTarget.value }), { replace: true })}>
                <option value="">Any health</option>
                <option value="ok">Healthy ({counts.ok})</option>
                <option value="warn">Degraded ({counts.warn})</option>
                <option value="bad">Unhealthy ({counts.bad})</option>
                <option value="idle">Unknown ({counts.idle})</option>
              </select>
              <input class="input" type="search" placeholder="Name, label, version" aria-label="Filter clusters" value={filter} onInput={(event) => navigate(withQuery({ filter: event.currentTarget.value }), { replace: true })} />
            </>
          )
        }
      >
        <span class="muted num" data-testid="count">
          {tab === "clusters" ? plural(shown.length, "cluster") : plural(registries.length, "registry").replace("registrys", "registries")}
        </span>
      </PageHead>
      <Tabs
        current={tab}
        tabs={[
          { id: "clusters", label: `Clusters ${clusters.length}`, to: "/clusters" },
          { id: "registries", label: `Registries ${registries.length}`, to: "/clusters?tab=registries" },
        ]}
      />
      {state === "loading" ? (
        <Panel>
          <Loading />
        </Panel>
      ) : tab === "registries" ? (
        <Registries registries={registries} />
      ) : clusters.length === 0 ? (
        <Panel>
          <Empty title={state === "failed" ? "Clusters cannot be read" : "No cluster is watched yet"} command="quarterdeck clusters add --kubeconfig ~/.kube/prod-east --name prod-east">
            {message || "Add one by its kubeconfig, or run a collector on it that pushes here. You see the clusters that access policies show you."}
          </Empty>
        </Panel>
      ) : shown.length === 0 ? (
        <Panel>
          <Empty title="No cluster matches the filter" />
        </Panel>
      ) : (
        <Cards clusters={shown} />
      )}
    </>
  );
}

function choose(clusters: HubCluster[], filter: string, health: string): HubCluster[] {
  const wanted = filter.toLowerCase();
  const kept = clusters.filter((each) => {
    if (health && assessCluster(each.status?.health) !== health) return false;
    return !wanted || describe(each).includes(wanted);
  });
  return kept.sort((a, b) => ORDER[assessCluster(a.status?.health)] - ORDER[assessCluster(b.status?.health)] || a.name.localeCompare(b.name));
}

function describe(cluster: HubCluster): string {
  const labels = Object.entries(cluster.spec?.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return [cluster.name, cluster.spec?.displayName, cluster.info?.version, cluster.info?.platform, ...labels].join(" ").toLowerCase();
}

/** Only the cards in sight are in the document. */
function Cards({ clusters }: { clusters: HubCluster[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800, width: 1000 });
  useLayoutEffect(() => {
    const node = scroller.current;
    if (!node) return;
    const measure = () => setView({ top: node.scrollTop, height: node.clientHeight, width: node.clientWidth - 8 });
    measure();
    node.addEventListener("scroll", measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => {
      node.removeEventListener("scroll", measure);
      observer.disconnect();
    };
  }, []);
  const columns = Math.max(1, Math.floor((view.width + GAP) / (WIDTH + GAP)));
  const width = (view.width - GAP * (columns - 1)) / columns;
  const lines = Math.ceil(clusters.length / columns);
  const first = Math.max(0, Math.floor(view.top / (HEIGHT + GAP)) - 2) * columns;
  const last = Math.min(clusters.length, (Math.ceil((view.top + view.height) / (HEIGHT + GAP)) + 2) * columns);
  return (
    <div class="cards-scroll" ref={scroller} tabIndex={0} role="list" aria-label="Clusters" data-testid="clusters">
      <div role="presentation" style={{ height: `${lines * (HEIGHT + GAP)}px` }}>
        {clusters.slice(first, last).map((cluster, index) => {
          const at = first + index;
          const box = { top: Math.floor(at / columns) * (HEIGHT + GAP), left: (at % columns) * (width + GAP) + 4, width };
          return <Card key={cluster.name} cluster={cluster} box={box} />;
        })}
      </div>
    </div>
  );
}

function Card({ cluster, box }: { cluster: HubCluster; box: { top: number; left: number; width: number } }) {
  const level = assessCluster(cluster.status?.health);
  const metrics = cluster.metrics;
  const style = { top: `${box.top}px`, left: `${box.left}px`, width: `${box.width}px`, height: `${HEIGHT}px` };
  return (
    <div role="listitem">
      <a class={`panel card ${level}`} href={`/clusters/${encodeURIComponent(cluster.name)}`} style={style}>
        <span class="row">
          <span class="title truncate grow">{cluster.spec?.displayName || cluster.name}</span>
          <Badge level={level}>{cluster.status?.health ?? "unknown"}</Badge>
        </span>
        <span class="line">
          <span class="truncate">{cluster.info?.platform ?? "Unknown platform"}</span>
          <span class="truncate">{cluster.info?.version ?? ""}</span>
        </span>
        <span class="line num">
          {metrics ? (
            <>
              <span class="nowrap">
                {metrics.nodes_ready ?? 0}/{metrics.nodes ?? 0} nodes
              </span>
              <span class="nowrap">
                {metrics.pods_running ?? 0}/{metrics.pods ?? 0} pods
              </span>
            </>
          ) : (
            <span class="truncate">{cluster.status?.message || "No metrics"}</span>
          )}
        </span>
        <span class="line">
          <span class="truncate grow">{cluster.name}</span>
          <Time at={cluster.status?.last_check} />
        </span>
      </a>
    </div>
  );
}

function Registries({ registries }: { registries: HubRegistry[] }) {
  if (registries.length === 0) {
    return (
      <Panel>
        <Empty title="No registry is watched yet" command="kubectl apply -f config/samples/clusterpulse_v1alpha1_registryconnection_harbor.yaml">
          Declare a RegistryConnection; its availability and repositories appear here.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel>
      <div class="scroll-x">
        <table class="plain">
          <thead>
            <tr>
              <th>Registry</th>
              <th>State</th>
              <th>Endpoint</th>
              <th>Type</th>
              <th class="num">Repositories</th>
              <th class="num">Response</th>
              <th>Checked</th>
            </tr>
          </thead>
          <tbody>
            {registries.map((each) => (
              <tr key={each.name}>
                <td>{each.spec?.display_name || each.name}</td>
                <td>
                  <Badge level={each.status?.available ? "ok" : "bad"}>{each.status?.available ? "Available" : "Unavailable"}</Badge>
                  {!each.status?.available && each.status?.error && <p class="muted">{each.status.error}</p>}
                </td>
                <td class="mono">{each.spec?.endpoint}</td>
                <td class="nowrap">{each.spec?.type}</td>
                <td class="num">{each.status?.available ? (each.status.repository_count ?? "–") : "–"}</td>
                <td class="num">{each.status?.available && each.status.response_time !== undefined ? `${each.status.response_time} ms` : "–"}</td>
                <td>
                  <Time at={each.status?.last_check} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
