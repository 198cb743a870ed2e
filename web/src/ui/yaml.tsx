// Objects as YAML to look at. What is edited is written and read by js-yaml, loaded on demand.

import { useMemo } from "preact/hooks";
import { writeLines } from "./yaml-lines";

export function Yaml({ value }: { value: unknown }) {
  const lines = useMemo(() => writeLines(value), [value]);
  return (
    <pre class="code" tabIndex={0}>
      {lines.map((line) => [...line.map(({ text, kind }) => (kind ? <span class={kind}>{text}</span> : text)), "\n"])}
    </pre>
  );
}
