// Two texts, line by line: what goes and what comes.

interface Line {
  kind: "same" | "add" | "del" | "gap";
  text: string;
}

const CONTEXT = 3;

export function diffLines(before: string[], after: string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const middle = compare(before.slice(start, before.length - end), after.slice(start, after.length - end));
  const same = (text: string): Line => ({ kind: "same", text });
  return [...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)];
}

function compare(a: string[], b: string[]): Line[] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j] ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i] ?? "" });
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))) {
      lines.push({ kind: "del", text: a[i++] ?? "" });
    } else {
      lines.push({ kind: "add", text: b[j++] ?? "" });
    }
  }
  return lines;
}

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
