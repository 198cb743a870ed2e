import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "js-yaml";
import { writeLines } from "../src/ui/yaml-lines";
import { createRandom } from "./random.js";

const TEXTS = [
  "", "plain", "two words", " leading", "trailing ", "a: b", "a #b", "- a", "yes", "No", "y", "null", "~", "1", "1e3", "0x1f", ".5", ".inf", "-",
  "2020-01-01", "@at", "*star", "&and", "!bang", "%percent", "{a}", "[a]", "'quoted'", '"quoted"', "back\\slash", "tab\there", "\n", "\n\n", "a\nb",
  "a\nb\n", "a\nb\n\n", "\na", " a\nb", "a\n  b\n c", "a\n\nb", "a \nb", "a\r\nb", "a\n\tb", "\u0000", "\u0085", "\u2028", "\ufeffa", "é", "日本",
];
const SCALARS = [...TEXTS, 0, -1, 1.5, 1e21, true, false, null];

function create(random, depth) {
  const size = random.below(4);
  switch (depth ? random.below(4) : 3) {
    case 0:
      return Array.from({ length: size }, () => create(random, depth - 1));
    case 1:
    case 2:
      return Object.fromEntries(Array.from({ length: size }, () => [random.pick(TEXTS), create(random, depth - 1)]));
    default:
      return random.pick(SCALARS);
  }
}

function write(value) {
  return writeLines(value).map((line) => line.map(({ text }) => text).join("")).join("\n") + "\n";
}

test("YAML reads back as the object that it shows", () => {
  const random = createRandom(7);
  for (let run = 0; run < 5_000; run++) {
    const value = { key: create(random, 4) };
    assert.deepEqual(load(write(value)), value, write(value));
  }
});

test("objects look as kubectl prints them", () => {
  const value = { spec: { ingress: [{}], args: ["a", ["b", "c"]], text: "one\ntwo\n", absent: undefined, ports: [{ name: "http", port: 80 }] } };
  const expected = ["spec:", "  ingress:", "  - {}", "  args:", "  - a", "  - - b", "    - c", "  text: |", "    one", "    two", "  ports:", "  - name: http", "    port: 80", ""];
  assert.equal(write(value), expected.join("\n"));
});
