import assert from "node:assert/strict";
import { test } from "node:test";
import { diffLines } from "../src/ui/diff-lines";
import { createRandom } from "./random.js";

function select(lines, ...kinds) {
  return lines.filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text);
}

/** The length of the longest common subsequence, by the table. */
function countCommon(a, b) {
  const lengths = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      lengths[i][j] = a[i - 1] === b[j - 1] ? lengths[i - 1][j - 1] + 1 : Math.max(lengths[i - 1][j], lengths[i][j - 1]);
    }
  }
  return lengths[a.length][b.length];
}

test("both texts can be read from the fewest changes between them", () => {
  const random = createRandom(11);
  for (let run = 0; run < 3_000; run++) {
    const [before, after] = [0, 1].map(() => Array.from({ length: random.below(12) }, () => random.pick(["a", "b", "c"])));
    const lines = diffLines(before, after);
    assert.deepEqual(select(lines, "same", "del"), before);
    assert.deepEqual(select(lines, "same", "add"), after);
    assert.equal(select(lines, "same").length, countCommon(before, after));
  }
});

test("what was replaced is shown before what replaces it", () => {
  const lines = diffLines(["a", "b", "c", "d"], ["a", "x", "y", "d"]);
  assert.deepEqual(lines.map(({ kind }) => kind), ["same", "del", "del", "add", "add", "same"]);
});

test("long texts are compared without a table of both", () => {
  const before = Array.from({ length: 60_000 }, (_, index) => `line ${index}`);
  const after = before.filter((_, index) => index % 1_000 !== 500);
  assert.equal(select(diffLines(before, after), "del").length, 60);
  const other = before.map((each) => `other ${each}`);
  assert.equal(diffLines(before, other).length, 120_000);
});
