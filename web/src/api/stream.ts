// One connection for all watches of the page and the hub's events.
//
// Every watch knows the newest resourceVersion it has seen. When the connection is cut, or the set
// of watches changes, the connection is opened again and every watch continues from there.

import { reportLoggedOut } from "./http";

export type Connection = "connecting" | "live" | "lost" | "paused";
export type Form = "table" | "object";

export interface WatchEvent {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: unknown;
}

export interface Watch {
  form: Form;
  path: string;
  /** Selectors, such as fieldSelector=…; without resourceVersion. */
  query: string;
  version: string;
  onEvent(event: WatchEvent): void;
  /** The watch cannot go on: too old, forbidden, gone. */
  onEnd(code: number): void;
}

export interface HubEvent {
  type: string;
  data: Record<string, unknown>;
}

const SILENCE_MS = 40_000;
const HIDDEN_MS = 60_000;
const REOPEN_MS = 30;
/** What the end of the hub's events is named by. */
const HUB = "hub";
const HUB_REOPEN_MS = 2_000;

class Stream {
  private watches = new Map<string, Watch>();
  private hubListeners = new Set<(event: HubEvent) => void>();
  private stateListeners = new Set<(state: Connection) => void>();
  private abort: AbortController | null = null;
  private reopenTimer = 0;
  private silenceTimer = 0;
  private hiddenTimer = 0;
  private tries = 0;
  private counter = 0;
  state: Connection = "connecting";

  constructor() {
    document.addEventListener("visibilitychange", () => this.onVisibility());
    addEventListener("online", () => this.reopen(0));
    addEventListener("offline", () => this.abort?.abort());
  }

  add(watch: Watch): () => void {
    const id = String(++this.counter);
    this.watches.set(id, watch);
    this.reopen(REOPEN_MS);
    return () => {
      // a watch less needs no new connection: its events are dropped until the next one
      this.watches.delete(id);
    };
  }

  /**
   * The hub's events, and one of the type "open" whenever the connection is opened: events are not
   * replayed, so what they are about is to be read again then.
   */
  onHub(listener: (event: HubEvent) => void): () => void {
    this.hubListeners.add(listener);
    if (this.hubListeners.size === 1) this.reopen(REOPEN_MS);
    return () => this.hubListeners.delete(listener);
  }

  onState(listener: (state: Connection) => void): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  private setState(state: Connection): void {
    if (state === this.state) return;
    this.state = state;
    for (const listener of this.stateListeners) listener(state);
  }

  private onVisibility(): void {
    clearTimeout(this.hiddenTimer);
    if (document.hidden) {
      // a page nobody looks at gives its connection back: a browser has six for this host
      this.hiddenTimer = window.setTimeout(() => this.pause(), HIDDEN_MS);
    } else if (this.state === "paused" || this.state === "lost") {
      this.reopen(0);
    }
  }

  private pause(): void {
    this.setState("paused");
    clearTimeout(this.reopenTimer);
    this.abort?.abort();
    this.abort = null;
  }

  private reopen(delay: number): void {
    if (this.state === "paused" && document.hidden) return;
    clearTimeout(this.reopenTimer);
    this.reopenTimer = window.setTimeout(() => void this.open(), delay);
  }

  private retry(): void {
    this.setState("lost");
    this.tries += 1;
    const delay = Math.min(10_000, 250 * 2 ** Math.min(this.tries, 6));
    this.reopen(delay * (0.75 + Math.random() / 2));
  }

  private async open(): Promise<void> {
    this.abort?.abort();
    if (this.watches.size === 0 && this.hubListeners.size === 0) return;
    const abort = new AbortController();
    this.abort = abort;
    if (this.state !== "live") this.setState(this.tries ? "lost" : "connecting");
    this.listen(abort); // a server that takes the connection and says nothing is as lost as one that ends it
    try {
      const response = await fetch(this.address(), { signal: abort.signal, credentials: "same-origin" });
      if (response.status === 401) reportLoggedOut(); // whoever is known after all goes on at the next try
      if (!response.ok || !response.body) throw new Error(String(response.status));
      this.listen(abort);
      await this.read(response.body, abort);
    } catch {
      // the reason is the same for the viewer: there is no connection
    }
    if (this.abort !== abort) return;
    clearTimeout(this.silenceTimer);
    this.retry();
  }

  private address(): string {
    const parts = this.hubListeners.size ? ["hub=1"] : [];
    for (const [id, watch] of this.watches) {
      const query = `${watch.query ? `${watch.query}&` : ""}resourceVersion=${watch.version}`;
      parts.push(`w=${encodeURIComponent(`${id}~${watch.form}~${watch.path}?${query}`)}`);
    }
    return `/watch?${parts.join("&")}`;
  }

  private listen(abort: AbortController): void {
    clearTimeout(this.silenceTimer);
    this.silenceTimer = window.setTimeout(() => abort.abort(), SILENCE_MS);
  }

  private async read(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done || this.abort !== abort) return;
      this.listen(abort);
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) this.dispatch(block);
    }
  }

  private dispatch(block: string): void {
    let name = "";
    let data = "";
    for (const line of block.split("\n")) {
      if (line.startsWith("event: ")) name = line.slice(7);
      else if (line.startsWith("data: ")) data = line.slice(6);
    }
    if (name === "open") {
      this.tries = 0;
      this.setState("live");
      for (const listener of this.hubListeners) listener({ type: "open", data: {} });
    } else if (name === "watch") {
      const { w, e } = JSON.parse(data) as { w: string; e: WatchEvent };
      this.deliver(w, e);
    } else if (name === "end") {
      this.end(JSON.parse(data) as { w: string; error?: { code?: number } });
    } else if (name && name !== "heartbeat") {
      const event = { type: name, data: JSON.parse(data || "{}") as Record<string, unknown> };
      for (const listener of this.hubListeners) listener(event);
    }
  }

  private deliver(id: string, event: WatchEvent): void {
    const watch = this.watches.get(id);
    if (!watch) return;
    if (event.type === "ERROR") {
      this.watches.delete(id);
      watch.onEnd((event.object as { code?: number }).code ?? 500);
      return;
    }
    const version = findVersion(event.object);
    if (version) watch.version = version;
    if (event.type !== "BOOKMARK") watch.onEvent(event);
  }

  private end({ w, error }: { w: string; error?: { code?: number } }): void {
    if (w === HUB) return this.reopen(HUB_REOPEN_MS);
    const watch = this.watches.get(w);
    if (!watch) return;
    if (!error || (error.code ?? 500) >= 500) return this.reopen(error ? 2000 : REOPEN_MS);
    this.watches.delete(w);
    watch.onEnd(error.code ?? 500);
  }
}

function findVersion(object: unknown): string {
  const found = object as {
    metadata?: { resourceVersion?: string };
    rows?: { object?: { metadata?: { resourceVersion?: string } } }[];
  };
  return found.rows?.[0]?.object?.metadata?.resourceVersion || found.metadata?.resourceVersion || "";
}

export const stream = new Stream();
