// One metric over time. uPlot is loaded when the first chart is shown.

import { useEffect, useRef } from "preact/hooks";
import { formatBytes, plural } from "./time";

/** Steps of an axis of bytes: 64, 128, 256 GiB instead of 186 and 373. */
const BINARY = Array.from({ length: 60 }, (_, power) => 2 ** power);

export interface Series {
  label: string;
  points: [number, number][];
}

/** Times of an axis, as precise as they must be: days, minutes or seconds. */
function formatTicks(ticks: number[]): string[] {
  const local = ticks.map((at) => new Date(at * 1000 - new Date(at * 1000).getTimezoneOffset() * 60_000).toISOString());
  if (local.every((text) => text.slice(11, 19) === "00:00:00")) return local.map((text) => text.slice(5, 10));
  const end = local.every((text) => text.slice(17, 19) === "00") ? 16 : 19;
  return local.map((text) => text.slice(11, end));
}

/**
 * The times of all points, and of each gap one inside it, so that no line is drawn across it.
 * A gap is longer than three times the usual distance of two points.
 */
function findTimes(series: Series[]): { times: number[]; gaps: number } {
  const known = [...new Set(series.flatMap((each) => each.points.map(([at]) => at)))].sort((a, b) => a - b);
  const steps = known.slice(1).map((at, index) => at - known[index]!);
  const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const times = known.flatMap((at, index) => ((steps[index] ?? 0) > 3 * usual ? [at, at + usual] : [at]));
  return { times, gaps: times.length - known.length };
}

export function Chart({ title, series, format }: { title: string; series: Series[]; format(value: number): string }) {
  const host = useRef<HTMLDivElement>(null);
  const { times, gaps } = findTimes(series);
  useEffect(() => {
    const node = host.current;
    if (!node || series.length === 0) return;
    let plot: { destroy(): void; setSize(size: { width: number; height: number }): void } | null = null;
    let isGone = false;
    const observer = new ResizeObserver(() => plot?.setSize({ width: node.clientWidth, height: 150 }));
    void Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]).then(([{ default: UPlot }]) => {
      if (isGone) return;
      const css = getComputedStyle(document.documentElement);
      const color = (name: string) => css.getPropertyValue(name).trim();
      const colors = ["--accent", "--busy-fill", "--warn-fill", "--ok-fill", "--bad-fill"].map(color);
      const columns = series.map((each) => {
        const known = new Map(each.points);
        return times.map((at) => known.get(at) ?? null);
      });
      const axis = { stroke: color("--text-3"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
      plot = new UPlot(
        {
          width: node.clientWidth,
          height: 150,
          cursor: { y: false, points: { size: 6 } },
          scales: { y: { range: (_, low, high) => [Math.min(0, low), high > low ? high * 1.1 : high + 1] } },
          axes: [{ ...axis, space: 60, size: 30, values: (_, ticks) => formatTicks(ticks) }, { ...axis, size: 52, values: (_, ticks) => ticks.map(format), ...(format === formatBytes && { incrs: BINARY }) }],
          series: [{}, ...series.map((each, index) => ({ label: each.label, stroke: colors[index % colors.length] ?? "", width: 1.6, points: { show: times.length < 3 } }))],
        },
        [times, ...columns],
        node,
      );
      observer.observe(node);
    });
    return () => {
      isGone = true;
      observer.disconnect();
      plot?.destroy();
    };
  }, [JSON.stringify(series)]);
  const last = series[0]?.points.at(-1)?.[1];
  return (
    <figure class="chart">
      <figcaption class="row">
        <strong>{title}</strong>
        <span class="grow" />
        <span class="num">{last === undefined ? "" : format(last)}</span>
      </figcaption>
      {series.length === 0 ? <p class="faint">No samples in this range</p> : <div ref={host} role="img" aria-label={`${title} over time, now ${last === undefined ? "unknown" : format(last)}${gaps ? `, with ${plural(gaps, "gap")}` : ""}`} />}
    </figure>
  );
}
