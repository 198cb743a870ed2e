// One cluster: health and history, nodes, operators, alerts, metrics that users define.

import { getJson } from "../api/http";
import { navigate, usePlace, withQuery } from "../router";
import { type Async, useAsync } from "../store/async";
import { assessCluster } from "../store/health";
import { type HubCluster, useClusters } from "../store/hub";
import { Badge, Empty, Facts, Loading, PageHead, Panel, Tabs, Tags, Time } from "../ui/basics";
import { Chart, type Series } from "../ui/chart";
import { formatBytes } from "../ui/time";

type Row = Record<string, unknown>;

interface CustomType {
  resourceTypeName: string;
  sourceId: string;
  aggregations?: { name: string }[];
}

interface CustomResources {
  items: Record<string, unknown>[];
  aggregations?: Record<string, unknown>;
  pagination?: { total?: number };
  collectedAt?: string;
}

const RANGES = ["15m", "1h", "6h", "24h", "7d"];
const STEPS: Record<string, string> = { "15m": "15s", "1h": "30s", "6h": "2m", "24h": "10m", "7d": "1h" };
const CHARTS: [string, string, (value: number) => string][] = [
  ["nodes_ready", "Nodes ready", String],
  ["pods_running", "Pods running", String],
  ["pods_total", "Pods", String],
  ["deployments_total", "Deployments", String],
  ["cpu_capacity", "CPU cores", String],
  ["memory_capacity_bytes", "Memory", formatBytes],
];

export function ClusterView({ name }: { name: string }) {
  const { query } = usePlace();
  const { clusters, state, message } = useClusters();
  const cluster = clusters.find((each) => each.name === name);
  const tab = query.get("tab") ?? "history";
  if (!cluster && state === "failed") return <Empty title="The cluster cannot be read">{message}</Empty>;
  if (!cluster) return state === "loading" ? <Loading /> : <Empty title={`No cluster ${name}`}>It does not exist, or access policies do not show it to you.</Empty>;
  const here = `/clusters/${encodeURIComponent(name)}`;
  const tabs = [
    ["history", "History"],
    ["nodes", `Nodes ${cluster.metrics?.nodes ?? ""}`],
    ["operators", `Operators ${cluster.operator_count}`],
    ["custom", "Custom metrics"],
    ["alerts", "Alerts"],
    ["events", "Events"],
  ].map(([id, label]) => ({ id: id ?? "", label: label ?? "", to: id === "history" ? here : `${here}?tab=${id}` }));
  return (
    <>
      <PageHead title={cluster.spec?.displayName || name} crumbs={[["Clusters", "/clusters"]]} actions={<a class="button" href={`/objects/clusterpulse.io/v1alpha1/clusterconnections?filter=${encodeURIComponent(name)}`}>ClusterConnection</a>}>
        <Badge level={assessCluster(cluster.status?.health)}>{cluster.status?.health ?? "unknown"}</Badge>
      </PageHead>
      <div class="stack">
        <Panel>
          <div class="body">
            <Facts
              rows={[
                ["Status", <span>{cluster.status?.message} <span class="faint">checked <Time at={cluster.status?.last_check} /></span></span>],
                ["Platform", `${cluster.info?.platform ?? "unknown"} ${cluster.info?.version ?? ""}${cluster.info?.channel ? ` (${cluster.info.channel})` : ""}`],
                ["Update", cluster.info?.update_available ? `${cluster.info.available_update_version} is available` : undefined],
                ["Endpoint", <span class="mono">{cluster.spec?.endpoint}</span>],
                ["Labels", <Tags labels={cluster.spec?.labels} />],
                ["Size", cluster.metrics ? `${cluster.metrics.nodes_ready}/${cluster.metrics.nodes} nodes, ${cluster.metrics.cpu_capacity} cores, ${formatBytes(cluster.metrics.memory_capacity)}, ${cluster.metrics.namespaces} namespaces` : undefined],
              ]}
            />
          </div>
        </Panel>
        <div>
          <Tabs tabs={tabs} current={tab} />
          <Body tab={tab} cluster={cluster} />
        </div>
      </div>
    </>
  );
}

function Body({ tab, cluster }: { tab: string; cluster: HubCluster }) {
  const at = `/api/v1/clusters/${encodeURIComponent(cluster.name)}`;
  const version = cluster.status?.last_check ?? "";
  switch (tab) {
    case "nodes":
      return <Nodes at={at} version={version} />;
    case "operators":
      return <Rows key={tab} at={`${at}/operators`} version={version} none="No operators are installed" columns={[["display_name", "Operator"], ["version", "Version"], ["status", "Status"], ["namespace", "Namespace"], ["install_mode", "Mode"]]} />;
    case "alerts":
      return <Rows key={tab} at={`${at}/alerts`} version={version} none="No alerts" columns={[["severity", "Severity"], ["name", "Alert"], ["object", "Object"], ["reason", "Reason"], ["message", "Message"], ["since", "Since"]]} />;
    case "events":
      return <Rows key={tab} at={`${at}/events`} version={version} none="No events" columns={[["timestamp", "When"], ["type", "Type"], ["data", "Data"]]} />;
    case "custom":
      return <Custom at={at} name={cluster.name} version={version} />;
    default:
      return <History at={at} version={version} />;
  }
}

interface Answer {
  data: { result: { metric: Record<string, string>; values: [number, string][] }[] };
}

async function loadSeries(path: string, metric: string, range: string): Promise<Series[]> {
  const answer = await getJson<Answer>(`${path}?metric=${encodeURIComponent(metric)}&range=${range}&step=${STEPS[range] ?? "1m"}`);
  return answer.data.result.map((each) => ({ label: each.metric.node ?? metric, points: each.values.map(([at, value]) => [at, Number(value)]) }));
}

function useRange(): [string, preact.JSX.Element] {
  const { query } = usePlace();
  const range = query.get("range") ?? "1h";
  const choice = (
    <select class="input" aria-label="Range" value={range} onChange={(event) => navigate(withQuery({ range: event.currentTarget.value }), { replace: true })}>
      {RANGES.map((each) => (
        <option key={each} value={each}>
          Last {each}
        </option>
      ))}
    </select>
  );
  return [range, choice];
}

function History({ at, version }: { at: string; version: string }) {
  const [range, choice] = useRange();
  const found = useAsync(() => Promise.all(CHARTS.map(([metric]) => loadSeries(`${at}/metrics/history`, metric, range).catch(() => []))), [at, range, version]);
  return (
    <Panel title="History" actions={choice}>
      {found.value ? (
        <div class="body charts" data-testid="charts">
          {CHARTS.map(([metric, title, format], index) => (
            <Chart key={metric} title={title} series={found.value?.[index] ?? []} format={format} />
          ))}
        </div>
      ) : (
        <Loading />
      )}
    </Panel>
  );
}

function Nodes({ at, version }: { at: string; version: string }) {
  const found = useAsync(() => getJson<Row[]>(`${at}/nodes`), [at, version]);
  return (
    <Listing found={found} none="No nodes are shown to you">
      {(rows) => (
        <table class="plain">
          <thead>
            <tr>
              <th>Node</th>
              <th>Status</th>
              <th>Roles</th>
              <th class="num">CPU requested</th>
              <th class="num">Memory requested</th>
              <th class="num">Pods</th>
              <th>Kubelet</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((node) => (
              <tr key={String(node.name)}>
                <td class="mono">{String(node.name)}</td>
                <td>
                  <Badge level={node.status === "Ready" ? "ok" : "bad"}>{String(node.status)}</Badge>
                </td>
                <td>{((node.roles as string[] | undefined) ?? []).join(", ")}</td>
                <td class="num">{percent(node.cpu_usage_percent)}</td>
                <td class="num">{percent(node.memory_usage_percent)}</td>
                <td class="num">
                  {String(node.pods_running ?? "–")}/{String(node.pods_capacity ?? "–")}
                </td>
                <td>{String(node.kubelet_version ?? "")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Listing>
  );
}

/** Columns that are times. */
const TIMES = new Set(["timestamp", "since"]);

function Rows({ at, version, none, columns }: { at: string; version: string; none: string; columns: [string, string][] }) {
  const found = useAsync(() => getJson<Row[]>(at), [at, version]);
  return (
    <Listing found={found} none={none}>
      {(rows) => (
        <table class="plain">
          <thead>
            <tr>
              {columns.map(([key, label]) => (
                <th key={key}>{label}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {columns.map(([key]) => (
                  <td key={key}>{TIMES.has(key) && row[key] ? <Time at={String(row[key])} /> : show(row[key])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Listing>
  );
}

function Listing({ found, none, children }: { found: Async<Row[]>; none: string; children(rows: Row[]): preact.ComponentChildren }) {
  if (found.error) return <Panel><Empty title="This cannot be shown">{found.error.message}</Empty></Panel>;
  if (!found.value) return <Panel><Loading /></Panel>;
  if (found.value.length === 0) return <Panel><Empty title={none} /></Panel>;
  return (
    <Panel>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Table">
        {children(found.value)}
      </div>
    </Panel>
  );
}

function Custom({ at, name, version }: { at: string; name: string; version: string }) {
  const types = useAsync(() => getJson<CustomType[]>("/api/v1/custom-types?include_source_details=true"), [version]);
  if (!types.value) return <Panel>{types.error ? <Empty title="This cannot be shown">{types.error.message}</Empty> : <Loading />}</Panel>;
  if (types.value.length === 0) {
    return (
      <Panel>
        <Empty title="No custom metrics yet" command="kubectl apply -f config/samples/clusterpulse_v1alpha1_metricsource_default-pvc-capacity.yaml">
          A MetricSource computes metrics over objects of any kind.
        </Empty>
      </Panel>
    );
  }
  return (
    <div class="stack">
      {types.value.map((type) => (
        <CustomPanel key={type.resourceTypeName} at={at} name={name} type={type} version={version} />
      ))}
    </div>
  );
}

function CustomPanel({ at, type, version }: { at: string; name: string; type: CustomType; version: string }) {
  const [range, choice] = useRange();
  const found = useAsync(() => getJson<CustomResources>(`${at}/custom/${encodeURIComponent(type.resourceTypeName)}`), [at, type.resourceTypeName, version]);
  const names = Object.entries(found.value?.aggregations ?? {}).filter(([, value]) => typeof value === "number").map(([key]) => key);
  const source = encodeURIComponent(type.sourceId);
  const history = useAsync(() => Promise.all(names.map((metric) => loadSeries(`${at}/custom-resources/${source}/metrics/history`, metric, range).catch(() => []))), [at, source, range, version, names.join()]);
  return (
    <Panel title={`${type.resourceTypeName} · ${type.sourceId}`} actions={choice}>
      {found.error ? (
        <Empty title="Not on this cluster">{found.error.message}</Empty>
      ) : !found.value ? (
        <Loading />
      ) : (
        <div class="body stack">
          <Facts rows={Object.entries(found.value.aggregations ?? {}).map(([key, value]) => [key, <span class="num">{show(value)}</span>])} />
          <div class="charts">
            {names.map((metric, index) => (
              <Chart key={metric} title={metric} series={history.value?.[index] ?? []} format={(value) => String(Math.round(value * 100) / 100)} />
            ))}
          </div>
          <p class="faint">
            {found.value.pagination?.total ?? found.value.items.length} objects, collected <Time at={found.value.collectedAt} />
          </p>
        </div>
      )}
    </Panel>
  );
}

function percent(value: unknown): string {
  return typeof value === "number" ? `${Math.round(value)} %` : "–";
}

function show(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "number") return String(Math.round(value * 100) / 100);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
