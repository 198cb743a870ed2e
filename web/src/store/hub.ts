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

class Clusters {
  byName = new Map<string, HubCluster>();
  registries: HubRegistry[] = [];
  state: "loading" | "ready" | "failed" = "loading";
  message = "";
  private listeners = new Set<() => void>();
  private changed = new Set<string>();
  private registryChanged = false;
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
    void this.loadAll();
    this.stops = [
      stream.onHub((event) => this.onEvent(event.type, event.data)),
      // events are not replayed: after a cut everything is read again
      stream.onState((state) => state === "live" && this.state !== "loading" && void this.loadAll()),
    ];
  }

  private stop(): void {
    for (const stop of this.stops) stop();
    clearTimeout(this.timer);
    this.timer = 0;
  }

  private onEvent(type: string, data: Record<string, unknown>): void {
    if (type.startsWith("registry.")) this.registryChanged = true;
    else if (type === "policies.changed") for (const name of this.byName.keys()) this.changed.add(name);
    else if (typeof data.cluster === "string") this.changed.add(data.cluster);
    else return;
    this.timer ||= window.setTimeout(() => void this.refresh(), GATHER_MS);
  }

  private async refresh(): Promise<void> {
    const early = this.allReadAt + GATHER_ALL_MS - performance.now();
    if (this.changed.size > FEW && early > 0) {
      this.timer = window.setTimeout(() => void this.refresh(), early);
      return;
    }
    this.timer = 0;
    const names = [...this.changed];
    const registries = this.registryChanged;
    this.changed.clear();
    this.registryChanged = false;
    if (names.length > FEW) return this.loadAll();
    await Promise.all(names.map((name) => this.loadOne(name)));
    if (registries) await this.loadRegistries().catch(() => {}); // those of the last time stay
    this.announce();
  }

  private async loadOne(name: string): Promise<void> {
    try {
      this.byName.set(name, await getJson<HubCluster>(`/api/v1/clusters/${encodeURIComponent(name)}`));
    } catch (error) {
      const status = error instanceof RequestFailed ? error.status : 0;
      if (status === 403 || status === 404) this.byName.delete(name); // gone, or no longer shown to this viewer
      else this.retry(name);
    }
  }

  /** Read a cluster again a while later; until then it is shown as it was. */
  private retry(name: string): void {
    this.changed.add(name);
    if (this.listeners.size) this.timer ||= window.setTimeout(() => void this.refresh(), GATHER_ALL_MS);
  }

  private async loadRegistries(): Promise<void> {
    this.registries = await getJson<HubRegistry[]>("/api/v1/registries/status");
  }

  private async loadAll(): Promise<void> {
    this.allReadAt = performance.now();
    try {
      const [clusters] = await Promise.all([getJson<HubCluster[]>("/api/v1/clusters"), this.loadRegistries()]);
      this.byName = new Map(clusters.map((each) => [each.name, each]));
      this.state = "ready";
      this.message = "";
    } catch (error) {
      if (this.state === "loading") this.state = "failed";
      this.message = (error as Error).message;
    }
    this.announce();
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
