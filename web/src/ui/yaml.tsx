// Objects as YAML to look at. What is edited is written and read by js-yaml, loaded on demand.

import type { ComponentChildren } from "preact";

const PLAIN = /^[A-Za-z_./][\w ./@+()-]*$/;
const AMBIGUOUS = /^(true|false|null|yes|no|on|off|~|[\d.+-].*)$/i;

export function Yaml({ value }: { value: unknown }) {
  const lines: ComponentChildren[] = [];
  write(value, 0, "", lines);
  return (
    <pre class="code" tabIndex={0}>
      {lines}
    </pre>
  );
}

function write(value: unknown, depth: number, lead: ComponentChildren, out: ComponentChildren[]): void {
  const pad = "  ".repeat(depth);
  if (Array.isArray(value)) {
    if (value.length === 0) return void out.push(lead, " []\n");
    out.push(lead, lead ? "\n" : "");
    for (const item of value) writeItem(item, depth, out);
  } else if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, each]) => each !== undefined);
    if (entries.length === 0) return void out.push(lead, " {}\n");
    out.push(lead, lead ? "\n" : "");
    for (const [key, each] of entries) {
      write(each, depth + (Array.isArray(each) ? 0 : 1), [pad, <span class="k">{quoteKey(key)}</span>, ":"], out);
    }
  } else {
    out.push(lead, " ", writeScalar(value, depth), "\n");
  }
}

function writeItem(item: unknown, depth: number, out: ComponentChildren[]): void {
  const pad = "  ".repeat(depth);
  if (item === null || typeof item !== "object") {
    out.push(pad, "- ", writeScalar(item, depth + 1), "\n");
    return;
  }
  const inner: ComponentChildren[] = [];
  write(item, depth + 1, "", inner);
  // the first key stands behind the dash
  const first = inner.findIndex((each) => Array.isArray(each));
  if (first >= 0) (inner[first] as ComponentChildren[])[0] = `${pad}- `;
  out.push(inner);
}

function writeScalar(value: unknown, depth: number): ComponentChildren {
  if (typeof value !== "string") return <span class="n">{String(value)}</span>;
  if (value.includes("\n")) {
    const pad = "  ".repeat(depth);
    const body = value.replace(/\n$/, "").split("\n").map((line) => `\n${pad}${line}`).join("");
    return <span class="s">{(value.endsWith("\n") ? "|" : "|-") + body}</span>;
  }
  return <span class="s">{PLAIN.test(value) && !AMBIGUOUS.test(value) ? value : JSON.stringify(value)}</span>;
}

function quoteKey(key: string): string {
  return /^[\w./-]+$/.test(key) ? key : JSON.stringify(key);
}
