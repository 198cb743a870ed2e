// Times as people say them.

const UNITS: [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
];

export function formatAge(at: string, now = Date.now()): string {
  const seconds = Math.round((now - Date.parse(at)) / 1000);
  if (Number.isNaN(seconds)) return at;
  if (Math.abs(seconds) < 5) return "now";
  const text = formatSeconds(Math.abs(seconds));
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

export function formatSeconds(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  for (const [index, [unit, size]] of UNITS.entries()) {
    if (seconds < size) continue;
    const whole = Math.floor(seconds / size);
    const next = UNITS[index + 1];
    const rest = next && whole < 3 ? Math.floor((seconds % size) / next[1]) : 0;
    return rest && next ? `${whole}${unit} ${rest}${next[0]}` : `${whole}${unit}`;
  }
  return "0s";
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function formatExact(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  return `${exact.format(date)} (${date.toISOString()})`;
}

export function formatBytes(bytes: number | undefined): string {
  if (bytes === undefined) return "–";
  if (bytes < 1) return "0";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value >= 100 ? Math.round(value) : Math.round(value * 10) / 10} ${units[power]}`;
}

export function plural(count: number, word: string): string {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}
