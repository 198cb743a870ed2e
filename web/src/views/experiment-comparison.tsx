// Two runs side by side: phases, durations, outputs, and what became of each metric.

import { getJson } from "../api/http";
import { pathOf } from "../api/objects";
import { type Experiment, KINDS } from "../generated/kinds";
import { navigate, usePlace, withQuery } from "../router";
import { useAsync } from "../store/async";
import type { Level } from "../store/health";
import { useObjects } from "../store/live";
import { Badge, Empty, Loading, Panel } from "../ui/basics";
import { formatSeconds } from "../ui/time";

/** One metric in both runs, as the server compares it. */
interface Metric {
  name: string;
  unit?: string;
  countA?: number;
  countB?: number;
  meanA?: number | null;
  meanB?: number | null;
  percent?: number | null;
  interval?: [number, number] | null;
  p?: number | null;
  change?: string;
}

const LEVELS: Record<string, Level> = { regression: "bad", improvement: "ok", changed: "busy", missing: "warn" };

export function took(experiment: Experiment): string {
  const end = experiment.status?.completedAt;
  return end ? formatSeconds((Date.parse(end) - Date.parse(experiment.metadata.creationTimestamp)) / 1000) : "–";
}

export function Comparison({ experiment }: { experiment: Experiment }) {
  const { query } = usePlace();
  const live = useObjects<Experiment>(KINDS.Experiment, experiment.metadata.namespace);
  const others = live.items.filter((each) => each.metadata.uid !== experiment.metadata.uid);
  const other = others.find((each) => each.metadata.name === query.get("compare"));
  return (
    <Panel
      class="span-12"
      title="Comparison"
      actions={
        <select class="input" aria-label="Compare with" value={other?.metadata.name ?? ""} onChange={(event) => navigate(withQuery({ compare: event.currentTarget.value }), { replace: true })}>
          <option value="">Compare with…</option>
          {others.map((each) => (
            <option key={each.metadata.uid}>{each.metadata.name}</option>
          ))}
        </select>
      }
    >
      {other ? (
        <>
          <Runs runs={[experiment, other]} />
          <Metrics key={other.metadata.uid} a={experiment} b={other} />
        </>
      ) : (
        <p class="body muted">{others.length ? "Choose another run to see both side by side." : "Run the experiment again to compare two runs: quarterdeck experiments rerun"}</p>
      )}
    </Panel>
  );
}

function Runs({ runs }: { runs: Experiment[] }) {
  const outputs = [...new Set(runs.flatMap((each) => Object.keys(each.status?.workflowStatus?.outputs ?? {})))];
  const rows: [string, (each: Experiment) => string][] = [
    ["Phase", (each) => each.status?.phase ?? "Pending"],
    ["Hypothesis", (each) => each.status?.hypothesisResult ?? "–"],
    ["Took", took],
    ["Targets", (each) => String(each.spec.targets.length)],
    ["Workflow", (each) => each.status?.workflowStatus?.phase ?? "–"],
    ...outputs.map((key): [string, (each: Experiment) => string] => [key, (each) => each.status?.workflowStatus?.outputs?.[key] ?? "–"]),
  ];
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label="Runs">
      <table class="plain">
        <thead>
          <tr>
            <th>Measure</th>
            {runs.map((each) => (
              <th key={each.metadata.uid}>{each.metadata.name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([label, value]) => (
            <tr key={label}>
              <td class="muted">{label}</td>
              {runs.map((each) => (
                <td key={each.metadata.uid}>{value(each)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The metrics of both runs; asked for again when one of them gets results. */
function Metrics({ a, b }: { a: Experiment; b: Experiment }) {
  const [first, second] = [a, b].map((each) => pathOf(KINDS.Experiment, each.metadata.namespace, each.metadata.name)) as [string, string];
  const address = `/comparison?a=${encodeURIComponent(first)}&b=${encodeURIComponent(second)}`;
  const found = useAsync(() => getJson<{ metrics: Metric[]; message: string }>(address), [address, a.status?.resultsURL, b.status?.resultsURL, a.status?.phase, b.status?.phase]);
  if (found.error) return <Empty title="The metrics cannot be compared">{found.error.message}</Empty>;
  if (!found.value) return <Loading rows={2} />;
  if (found.value.metrics.length === 0) return <Empty title="No metrics to compare">{found.value.message || "Neither run has stored a metric: name some in spec.metrics."}</Empty>;
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label="Metrics">
      <table class="plain">
        <thead>
          <tr>
            <th>Metric</th>
            <th class="num">{a.metadata.name}</th>
            <th class="num">{b.metadata.name}</th>
            <th class="num">Change</th>
            <th class="num">95 % interval</th>
            <th class="num">p</th>
            <th>Result</th>
          </tr>
        </thead>
        <tbody>
          {found.value.metrics.map((each) => (
            <tr key={each.name}>
              <td class="mono">{each.name}</td>
              <td class="num nowrap" title={`${each.countA ?? 0} values`}>{formatMean(each.meanA, each.unit)}</td>
              <td class="num nowrap" title={`${each.countB ?? 0} values`}>{formatMean(each.meanB, each.unit)}</td>
              <td class="num nowrap">{typeof each.percent === "number" ? `${formatSigned(each.percent, 1)} %` : "–"}</td>
              <td class="num nowrap">{each.interval ? `${formatSigned(each.interval[0])} to ${formatSigned(each.interval[1])}` : "–"}</td>
              <td class="num">{typeof each.p === "number" ? formatNumber(each.p) : "–"}</td>
              <td>
                <Badge level={LEVELS[each.change ?? "missing"] ?? "idle"}>{each.change ?? "missing"}</Badge>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function formatMean(value: number | null | undefined, unit = ""): string {
  return typeof value === "number" ? `${formatNumber(value)}${unit ? ` ${unit}` : ""}` : "–";
}

function formatNumber(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** With its sign, so that more and less are told apart at a glance. */
function formatSigned(value: number, digits?: number): string {
  const options = digits === undefined ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: digits, minimumFractionDigits: digits };
  return value.toLocaleString("en", { ...options, signDisplay: "exceptZero" });
}
