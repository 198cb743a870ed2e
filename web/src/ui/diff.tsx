// Two texts, line by line: what goes and what comes.

import { type Line, diffLines } from "./diff-lines";

const CONTEXT = 3;

function shorten(lines: Line[]): Line[] {
  const near = new Set<number>();
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    for (let at = index - CONTEXT; at <= index + CONTEXT; at++) near.add(at);
  });
  const shown: Line[] = [];
  lines.forEach((line, index) => {
    if (near.has(index)) shown.push(line);
    else if (shown.at(-1)?.kind !== "gap") shown.push({ kind: "gap", text: "…" });
  });
  return shown;
}

export function Diff({ before, after }: { before: string; after: string }) {
  const lines = diffLines(before.split("\n"), after.split("\n"));
  if (lines.every((line) => line.kind === "same")) return <p class="body muted">The server would change nothing.</p>;
  const marks = { same: "  ", add: "+ ", del: "- ", gap: "" };
  return (
    <div class="diff" tabIndex={0} role="region" aria-label="Changes">
      {shorten(lines).map((line, index) => (
        <div key={index} class={line.kind}>
          {marks[line.kind] + line.text}
        </div>
      ))}
    </div>
  );
}
