// The lines that two texts have in common, by Myers' algorithm: its cost grows with what differs,
// not with the product of the lengths.

export interface Line {
  kind: "same" | "add" | "del" | "gap";
  text: string;
}

/** With more edits the texts have little in common, and all of one is shown before all of the other. */
const MAX_EDITS = 2_000;

export function diffLines(before: string[], after: string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const middle = compare(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)];
}

function same(text: string): Line {
  return { kind: "same", text };
}

function compare(a: string[], b: string[]): Line[] {
  const common = findCommon(a, b);
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  for (const [x, y] of [...common, [a.length, b.length] as const]) {
    // of what was replaced, first all that goes and then all that comes
    for (; i < x; i++) lines.push({ kind: "del", text: a[i] ?? "" });
    for (; j < y; j++) lines.push({ kind: "add", text: b[j] ?? "" });
    if (x < a.length) lines.push(same(a[x] ?? ""));
    i = x + 1;
    j = y + 1;
  }
  return lines;
}

/** The positions of the lines that stay, in both texts; none if more than MAX_EDITS lines differ. */
function findCommon(a: string[], b: string[]): [number, number][] {
  const most = Math.min(a.length + b.length, MAX_EDITS);
  const origin = most + 1;
  const furthest = new Int32Array(2 * most + 3);
  const steps: Int32Array[] = []; // for each number of edits, how far each diagonal was before them
  for (let edits = 0; edits <= most; edits++) {
    steps.push(furthest.slice(origin - edits - 1, origin + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = step(furthest, origin, edits, diagonal);
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
      furthest[origin + diagonal] = x;
      if (x >= a.length && x - diagonal >= b.length) return traceBack(steps, a.length, b.length);
    }
  }
  return [];
}

/** Where a diagonal begins after one more edit. */
function step(furthest: Int32Array, origin: number, edits: number, diagonal: number): number {
  const at = origin + diagonal;
  return isInsertion(furthest, origin, edits, diagonal) ? (furthest[at + 1] ?? 0) : (furthest[at - 1] ?? 0) + 1;
}

/** Whether that edit inserts a line, from the next diagonal, or deletes one, from the diagonal before. */
function isInsertion(furthest: Int32Array, origin: number, edits: number, diagonal: number): boolean {
  if (diagonal === -edits) return true;
  const at = origin + diagonal;
  return diagonal !== edits && (furthest[at - 1] ?? 0) < (furthest[at + 1] ?? 0);
}

function traceBack(steps: Int32Array[], width: number, height: number): [number, number][] {
  const common: [number, number][] = [];
  let [x, y] = [width, height];
  for (let edits = steps.length - 1; edits >= 0; edits--) {
    const furthest = steps[edits] ?? new Int32Array();
    const origin = edits + 1;
    const diagonal = x - y;
    const begin = step(furthest, origin, edits, diagonal);
    while (x > begin) common.push([--x, --y]);
    if (isInsertion(furthest, origin, edits, diagonal)) y -= 1;
    else x -= 1;
  }
  return common.reverse();
}
