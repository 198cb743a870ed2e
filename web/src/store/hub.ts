// Clusters and registries as the hub API shows them, kept current by the hub's events.

import { useLayoutEffect, useState } from "preact/hooks";
import { RequestFailed, getJson } from "../api/http";
import { stream } from "../api/stream";

export interface HubCluster {
  name: string;
  spec: {
    displayName?: string;
    endpoint?: string;
    labels?: Record<string, string>;
    monitoring?: { interval?: number };
  } | null;
  info: { version?: string; platform?: string; channel?: string; console_url?: string; update_available?: boolean; available_update_version?: string } | null;
  metrics: {
    timestamp?: string;
    nodes?: number;
    nodes_ready?: number;
    namespaces?: number;
    pods?: number;
    pods_running?: number;
    cpu_capacity?: number;
    memory_capacity?: number;
    deployments?: number;
  } | null;
  status: { health?: string; message?: string; last_check?: string } | null;
  operator_count: number;
}

export interface HubRegistry {
  name: string;
  spec: { display_name?: string; endpoint?: string; type?: string } | null;
  status: {
    available?: boolean;
    response_time?: number;
    version?: string;
    repository_count?: number;
    repositories?: string[];
    error?: string;
    last_check?: string;
  } | null;
}

const FEW = 8;
const GATHER_MS = 500;
/** Reading every cluster again is dear: with many of them changing all the time, do it seldom. */
const GATHER_ALL_MS = 4_000;

/** Reads one answer at a time, so that an older one never replaces a newer one. */
class Clusters {
  byName = new Map<string, HubCluster>();
  registries: HubRegistry[] = [];
  state: "loading" | "ready" | "failed" = "loading";
  message = "";
  private listeners = new Set<() => void>();
  private changed = new Set<string>();
  private areAllChanged = false;
  private areRegistriesChanged = false;
  private isReading = false;
  private timer = 0;
  private allReadAt = -GATHER_ALL_MS;
  private stops: (() => void)[] = [];

  use(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.start();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.stop();
    };
  }

  private start(): void {
    this.areAllChanged = true;
    this.allReadAt = -GATHER_ALL_MS;
    void this.refresh();
    this.stops = [stream.onHub((event) => this.onEvent(event.type, event.data))];
  }

  private stop(): void {
    for (const stop of this.stops) stop();
    clearTimeout(this.timer);
    this.timer = 0;
  }

  private onEvent(type: string, data: Record<string, unknown>): void {
    // a changed policy may also show clusters that are not known yet
    if (type === "open" || type === "policies.changed") this.areAllChanged = true;
    else if (type.startsWith("registry.")) this.areRegistriesChanged = true;
    else if (typeof data.cluster === "string") this.changed.add(data.cluster);
    else return;
    this.schedule(GATHER_MS);
  }

  private schedule(delay: number): void {
    if (this.listeners.size === 0 || this.isReading) return; // the end of a reading schedules the next one
    this.timer ||= window.setTimeout(() => void this.refresh(), delay);
  }

  private async refresh(): Promise<void> {
    this.timer = 0;
    if (this.isReading) return;
    const early = this.allReadAt + GATHER_ALL_MS - performance.now();
    const isMuch = this.areAllChanged || this.changed.size > FEW;
    if (isMuch && early > 0) return this.schedule(early);
    this.isReading = true;
    const isComplete = await (isMuch ? this.readAll() : this.readChanged());
    this.isReading = false;
    this.announce();
    if (this.areAllChanged || this.areRegistriesChanged || this.changed.size) {
      this.schedule(isComplete ? GATHER_MS : GATHER_ALL_MS);
    }
  }

  /** Read everything; whether that succeeded. */
  private async readAll(): Promise<boolean> {
    this.allReadAt = performance.now();
    const changed = [...this.changed];
    this.changed.clear();
    this.areAllChanged = this.areRegistriesChanged = false;
    try {
      const [clusters, registries] = await Promise.all([
        getJson<HubCluster[]>("/api/v1/clusters"),
        getJson<HubRegistry[]>("/api/v1/registries/status"),
      ]);
      this.byName = new Map(clusters.map((each) => [each.name, each]));
      this.registries = registries;
      this.state = "ready";
      this.message = "";
      return true;
    } catch (error) {
      if (this.state === "loading") this.state = "failed";
      this.message = (error as Error).message;
      for (const name of changed) this.changed.add(name);
      this.areAllChanged = true;
      return false;
    }
  }

  /** Read what has changed; whether that succeeded. What did not is shown as it was, and read again later. */
  private async readChanged(): Promise<boolean> {
    const names = [...this.changed];
    this.changed.clear();
    const readings = names.map((name) => this.readOne(name));
    if (this.areRegistriesChanged) readings.push(this.readRegistries());
    return (await Promise.all(readings)).every(Boolean);
  }

  private async readOne(name: string): Promise<boolean> {
    try {
      this.byName.set(name, await getJson<HubCluster>(`/api/v1/clusters/${encodeURIComponent(name)}`));
    } catch (error) {
      const status = error instanceof RequestFailed ? error.status : 0;
      if (status !== 403 && status !== 404) {
        this.changed.add(name);
        return false;
      }
      this.byName.delete(name); // gone, or no longer shown to this viewer
    }
    return true;
  }

  private async readRegistries(): Promise<boolean> {
    this.areRegistriesChanged = false;
    try {
      this.registries = await getJson<HubRegistry[]>("/api/v1/registries/status");
    } catch {
      this.areRegistriesChanged = true;
    }
    return !this.areRegistriesChanged;
  }

  private announce(): void {
    for (const listener of this.listeners) listener();
  }
}

const shared = new Clusters();

/** Clusters and registries. It subscribes before the first paint, so that no change of them is missed. */
export function useClusters(): { clusters: HubCluster[]; registries: HubRegistry[]; state: string; message: string } {
  const [, setVersion] = useState(0);
  useLayoutEffect(() => shared.use(() => setVersion((version) => version + 1)), []);
  return {
    clusters: [...shared.byName.values()],
    registries: shared.registries,
    state: shared.state,
    message: shared.message,
  };
}
