// Small parts that every view uses.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Health, Level } from "../store/health";
import { formatAge, formatExact } from "./time";

export function Badge({ level, children }: { level: Level; children: ComponentChildren }) {
  return (
    <span class={`badge ${level}`}>
      <span class="truncate">{children}</span>
    </span>
  );
}

export function HealthBadge({ health }: { health: Health }) {
  return <Badge level={health.level}>{health.label}</Badge>;
}

let tick = 0;
const tickers = new Set<(tick: number) => void>();
setInterval(() => {
  tick += 1;
  for (const each of tickers) each(tick);
}, 10_000);

/** A relative time; the exact one is its title. */
export function Time({ at }: { at: string | undefined | null }) {
  const [, setTick] = useState(0);
  useEffect(() => {
    tickers.add(setTick);
    return () => {
      tickers.delete(setTick);
    };
  }, []);
  if (!at) return <span class="faint">–</span>;
  return (
    <time dateTime={at} title={formatExact(at)} class="nowrap">
      {formatAge(at)}
    </time>
  );
}

export function Panel(props: {
  title?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
  label?: string;
}) {
  return (
    <section class={`panel ${props.class ?? ""}`} aria-label={props.label}>
      {props.title !== undefined && (
        <header>
          <h2>{props.title}</h2>
          {props.actions && <div class="actions">{props.actions}</div>}
        </header>
      )}
      {props.children}
    </section>
  );
}

export function PageHead(props: {
  title: ComponentChildren;
  crumbs?: [string, string][];
  actions?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <div class="page-head">
      {props.crumbs && (
        <nav class="crumbs" aria-label="Path">
          {props.crumbs.map(([label, to], index) => (
            <span key={to}>
              {index > 0 && <span aria-hidden="true">› </span>}
              <a href={to}>{label}</a>
            </span>
          ))}
        </nav>
      )}
      <h1>{props.title}</h1>
      {props.children}
      {props.actions && <div class="actions">{props.actions}</div>}
    </div>
  );
}

/** Nothing to show, and what to do about it. */
export function Empty(props: { title: string; children?: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      <h2>{props.title}</h2>
      {props.children && <p>{props.children}</p>}
      {props.command && (
        <pre class="command" tabIndex={0}>
          {props.command}
        </pre>
      )}
    </div>
  );
}

export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div class="body stack tight" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="skeleton" />
      ))}
    </div>
  );
}

export function Bar({ counts, label }: { counts: Record<Level, number>; label: string }) {
  const order: Level[] = ["ok", "busy", "warn", "bad", "idle"];
  return (
    <div class="bar" role="img" aria-label={label}>
      {order.map((level) =>
        counts[level] ? <i key={level} class={level} style={{ flexGrow: counts[level] }} /> : null,
      )}
    </div>
  );
}

export function Tabs({ tabs, current }: { tabs: { id: string; label: string; to: string }[]; current: string }) {
  return (
    <nav class="tabs" aria-label="Sections">
      {tabs.map((tab) => (
        <a key={tab.id} href={tab.to} aria-current={tab.id === current ? "page" : undefined}>
          {tab.label}
        </a>
      ))}
    </nav>
  );
}

export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([label, value]) => [<dt key={label}>{label}</dt>, <dd key={`${label}:`}>{value}</dd>])}
    </dl>
  );
}

export function Tags({ labels }: { labels: Record<string, string> | undefined }) {
  const pairs = Object.entries(labels ?? {});
  if (pairs.length === 0) return <span class="faint">none</span>;
  return (
    <span class="row wrap">
      {pairs.map(([key, value]) => (
        <span key={key} class="tag">
          {key}
          {value ? `=${value}` : ""}
        </span>
      ))}
    </span>
  );
}
