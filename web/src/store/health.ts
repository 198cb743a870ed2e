// One judgement for every kind: how is it, and since when.

import type { Condition, KubeObject } from "../api/objects";
import { conditionsOf } from "../api/objects";

export type Level = "ok" | "busy" | "warn" | "bad" | "idle";

export interface Health {
  level: Level;
  label: string;
  message: string;
  since: string;
}

const BAD_PHASES = new Set(["Failed", "Error", "Degraded", "Lost", "Unhealthy", "CrashLoopBackOff", "Invalid"]);
const OK_PHASES = new Set(["Running", "Ready", "Succeeded", "Complete", "Completed", "Active", "Bound", "Connected", "Healthy", "Available", "Idle"]);
const MAIN = ["Ready", "Available", "Healthy", "Synced"];
/** Reasons that say a thing is on its way, not broken. */
const BUSY_REASON = /progress|pending|creating|provision|starting|waiting|notready$|running|scaling|updating|unknown|boot|clon|drain|delet/i;
const BAD_REASON = /fail|error|invalid|refused|denied|notfound|missing|unreachable|degraded|exceeded|conflict|lost|stalled/i;
/** Reasons that say a failure is absent, such as NoErrors. */
const GOOD_REASON = /^No(t|ne)?(?=[A-Z])(?!.*Found$)/;

export function assess(object: KubeObject): Health {
  const created = object.metadata.creationTimestamp;
  if (object.metadata.deletionTimestamp) {
    return { level: "busy", label: "Deleting", message: "", since: object.metadata.deletionTimestamp };
  }
  const status = object.status as { phase?: string; message?: string; health?: string } | undefined;
  const conditions = conditionsOf(object);
  const main = MAIN.map((type) => conditions.find((each) => each.type === type)).find(Boolean);
  const stalled = conditions.find((each) => each.type === "Progressing" && each.status === "False" && BAD_REASON.test(each.reason ?? ""));
  const phase = status?.phase ?? "";
  const since = main?.lastTransitionTime ?? created;
  const message = main?.message || status?.message || "";
  if (BAD_PHASES.has(phase)) return { level: "bad", label: phase, message, since };
  if (stalled && !(main?.status === "False" && BAD_REASON.test(main.reason ?? ""))) {
    // the cause before its effect; while main is True, what runs still runs, but a change does not arrive
    const level = main?.status === "True" ? "warn" : "bad";
    return { level, label: stalled.reason ?? "Stalled", message: stalled.message ?? "", since: stalled.lastTransitionTime ?? created };
  }
  if (main) {
    if (main.status === "True") return { level: "ok", label: OK_PHASES.has(phase) ? phase : main.type, message, since };
    const reason = main.reason ?? "";
    const label = phase || reason || `Not ${main.type.toLowerCase()}`;
    if (BAD_REASON.test(reason)) return { level: "bad", label, message, since };
    if (OK_PHASES.has(phase)) return { level: "ok", label: phase, message, since };
    return { level: BUSY_REASON.test(reason) || BUSY_REASON.test(phase) ? "busy" : "warn", label, message, since };
  }
  if (OK_PHASES.has(phase)) return { level: "ok", label: phase, message, since };
  if (phase) return { level: "busy", label: phase, message, since };
  return { level: "idle", label: "No status yet", message, since };
}

/** The level of one condition. False alone is no failure: of some types it is the good state. */
export function assessCondition({ status, reason }: Condition): Level {
  if (status === "True") return "ok";
  if (status !== "False") return "busy";
  return BAD_REASON.test(reason ?? "") && !GOOD_REASON.test(reason ?? "") ? "bad" : "idle";
}

/** The health of a cluster as the hub names it. */
export function assessCluster(health: string | undefined): Level {
  switch (health) {
    case "healthy":
      return "ok";
    case "degraded":
    case "warning":
      return "warn";
    case "unhealthy":
    case "critical":
      return "bad";
    default:
      return "idle";
  }
}

/** A level for a word in a table cell; null if the word says nothing about health. */
export function levelOf(word: string): Level | null {
  if (OK_PHASES.has(word) || word === "True" || word === "healthy" || word === "true") return "ok";
  if (BAD_PHASES.has(word) || word === "unhealthy" || word === "critical") return "bad";
  if (word === "degraded" || word === "Warning") return "warn";
  if (/^(Pending|Provisioning|Bootstrapping|Progressing|Terminating|Creating|Updating|Deleting)$/.test(word)) return "busy";
  return null;
}

export function countLevels(levels: Level[]): Record<Level, number> {
  const counts: Record<Level, number> = { ok: 0, busy: 0, warn: 0, bad: 0, idle: 0 };
  for (const level of levels) counts[level] += 1;
  return counts;
}
