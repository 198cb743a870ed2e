// Objects as lines of YAML that read back as the object.

export interface Token {
  text: string;
  kind?: "k" | "s" | "n"; // a key, a text, or another scalar
}

type Line = Token[];

const PLAIN = /^[A-Za-z_./]([\w ./@+()-]*[\w./@+()-])?$/;
const AMBIGUOUS = /^(true|false|null|yes|no|on|off|y|n|~|[\d.+-].*)$/i;
const PLAIN_KEY = /^[\w./-]+$/;
/** Without a space or a line break at the start, or an empty line at the end: both need marks that few know. */
const BLOCK = /^[^\s](.*\n)*.+\n?$/;
const UNPRINTABLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]/;
const UNPRINTABLE_IN_JSON = /[\x7f-\x9f\u2028\u2029\ufeff]/g;

export function writeLines(value: unknown): Line[] {
  if (Array.isArray(value)) return value.length ? value.flatMap(writeItem) : [[{ text: "[]" }]];
  if (value === null || typeof value !== "object") return writeScalar(value);
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return entries.length ? entries.flatMap(([key, each]) => writeEntry(key, each)) : [[{ text: "{}" }]];
}

function writeItem(item: unknown): Line[] {
  return writeLines(item).map((line, index) => [{ text: index ? "  " : "- " }, ...line]);
}

function writeEntry(key: string, value: unknown): Line[] {
  const lead: Line = [{ text: quoteKey(key), kind: "k" }, { text: ":" }];
  const lines = writeLines(value);
  const isCollection = value !== null && typeof value === "object" && Object.keys(value).length > 0;
  if (isCollection) return [lead, ...(Array.isArray(value) ? lines : lines.map(indent))];
  const [first = [], ...rest] = lines;
  return [[...lead, { text: " " }, ...first], ...rest.map(indent)];
}

function indent(line: Line): Line {
  return [{ text: "  " }, ...line];
}

function writeScalar(value: unknown): Line[] {
  if (typeof value !== "string") return [[{ text: String(value), kind: "n" }]];
  if (value.includes("\n") && BLOCK.test(value) && !UNPRINTABLE.test(value)) {
    const mark = value.endsWith("\n") ? "|" : "|-";
    return [mark, ...value.replace(/\n$/, "").split("\n")].map((text) => [{ text, kind: "s" }]);
  }
  return [[{ text: PLAIN.test(value) && !AMBIGUOUS.test(value) ? value : quote(value), kind: "s" }]];
}

function quoteKey(key: string): string {
  return PLAIN_KEY.test(key) && !AMBIGUOUS.test(key) ? key : quote(key);
}

function quote(text: string): string {
  const escape = (each: string) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(UNPRINTABLE_IN_JSON, escape);
}
