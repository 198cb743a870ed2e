// Collections that follow the server: a list, then a watch from the version of that list.
//
// Collections are shared by everything on the page that shows them and are forgotten a while after
// the last user is gone, so a page left open does not grow.

import { useEffect, useState } from "preact/hooks";
import { RequestFailed, getJson } from "../api/http";
import type { KubeObject, Resource, Table, TableColumn, TableRow } from "../api/objects";
import { pathOf } from "../api/objects";
import { type Form, type WatchEvent, stream } from "../api/stream";
import { useScope } from "./scope";

const PAGE = 500;
const KEPT_MS = 15_000;
const MANY = 1_000;
const CALM_MS = 400;
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";

export type Load = "loading" | "ready" | "forbidden" | "absent" | "failed";

interface Page {
  metadata: { resourceVersion?: string; continue?: string };
  items?: KubeObject[];
  rows?: TableRow[] | null;
  columnDefinitions?: TableColumn[] | null;
}

export class Collection<Item> {
  items = new Map<string, Item>();
  columns: TableColumn[] = [];
  load: Load = "loading";
  message = "";
  version = 0;
  private listeners = new Set<() => void>();
  private users = 0;
  private stopWatch: (() => void) | null = null;
  private forgetTimer = 0;
  private frame = 0;
  private run = 0;

  constructor(
    private path: string,
    private query: string,
    private form: Form,
    private onForget: () => void,
  ) {}

  use(listener: () => void): () => void {
    clearTimeout(this.forgetTimer);
    this.listeners.add(listener);
    // a list that failed is not tried again while nobody looks at it
    if (this.users++ === 0 && (this.run === 0 || this.load === "failed")) void this.start();
    return () => {
      this.listeners.delete(listener);
      if (--this.users === 0) this.forgetTimer = window.setTimeout(() => this.stop(), KEPT_MS);
    };
  }

  private stop(): void {
    this.run += 1;
    this.stopWatch?.();
    this.stopWatch = null;
    this.items.clear();
    this.onForget();
  }

  private async start(): Promise<void> {
    const run = ++this.run;
    try {
      const found = new Map<string, Item>();
      let token = "";
      let resourceVersion = "";
      do {
        const page = await this.fetchPage(token);
        if (run !== this.run) return;
        for (const [key, item] of this.read(page)) found.set(key, item);
        token = page.metadata.continue ?? "";
        resourceVersion = page.metadata.resourceVersion ?? "";
        if (this.load === "loading") this.replace(found); // show the first page at once
      } while (token);
      this.replace(found);
      this.watch(resourceVersion);
    } catch (error) {
      if (run === this.run) this.fail(error);
    }
  }

  private fetchPage(token: string): Promise<Page> {
    const query = [this.query, `limit=${PAGE}`, token ? `continue=${encodeURIComponent(token)}` : ""];
    const extra = this.form === "table" ? "&includeObject=Metadata" : "";
    const accept = this.form === "table" ? TABLE : "application/json";
    const address = `/k8s${this.path}?${query.filter(Boolean).join("&")}${extra}`;
    return getJson<Page>(address, { headers: { Accept: accept } });
  }

  private *read(page: Page): Iterable<[string, Item]> {
    if (page.columnDefinitions) this.columns = page.columnDefinitions;
    for (const row of page.rows ?? []) yield [row.object.metadata.uid, row as Item];
    for (const item of page.items ?? []) yield [item.metadata.uid, item as Item];
  }

  private replace(items: Map<string, Item>): void {
    this.items = new Map(items);
    this.load = "ready";
    this.message = "";
    this.announce();
  }

  private fail(error: unknown): void {
    const status = error instanceof RequestFailed ? error.status : 0;
    this.message = error instanceof Error ? error.message : String(error);
    this.load = status === 403 ? "forbidden" : status === 404 ? "absent" : "failed";
    this.announce();
    if (this.load === "failed" && this.users) window.setTimeout(() => this.users && this.load === "failed" && void this.start(), 3000);
  }

  private watch(version: string): void {
    const extra = this.form === "table" ? "includeObject=Metadata" : "";
    this.stopWatch?.();
    this.stopWatch = stream.add({
      form: this.form,
      path: this.path,
      query: [this.query, extra].filter(Boolean).join("&"),
      version,
      onEvent: (event) => this.apply(event),
      onEnd: (code) => (code === 403 ? this.fail(new RequestFailed(403, "no longer allowed")) : void this.start()),
    });
  }

  private apply(event: WatchEvent): void {
    if (this.form === "table") {
      for (const row of (event.object as Table).rows ?? []) this.change(event.type, row.object.metadata.uid, row);
    } else {
      this.change(event.type, (event.object as KubeObject).metadata.uid, event.object);
    }
    this.announce();
  }

  private change(type: string, uid: string, item: unknown): void {
    if (type === "DELETED") this.items.delete(uid);
    else this.items.set(uid, item as Item);
  }

  /** Tell listeners at most once a frame, whatever the rate of events; for long lists less often. */
  private announce(): void {
    this.version += 1;
    if (this.frame) return;
    const tell = () => {
      this.frame = 0;
      for (const listener of this.listeners) listener();
    };
    // sorting many rows takes a while: do it a few times a second, not sixty
    this.frame = this.items.size > MANY ? window.setTimeout(tell, CALM_MS) : requestAnimationFrame(tell);
  }
}

const collections = new Map<string, Collection<unknown>>();

function open<Item>(path: string, query: string, form: Form): Collection<Item> {
  const key = `${form} ${path}?${query}`;
  let found = collections.get(key);
  if (!found) {
    found = new Collection<unknown>(path, query, form, () => collections.delete(key));
    collections.set(key, found);
  }
  return found as Collection<Item>;
}

function useCollection<Item>(path: string | null, query: string, form: Form): Collection<Item> | null {
  const [, setVersion] = useState(0);
  const [collection, setCollection] = useState<Collection<Item> | null>(null);
  useEffect(() => {
    if (path === null) return setCollection(null);
    const found = open<Item>(path, query, form);
    setCollection(found);
    return found.use(() => setVersion((version) => version + 1));
  }, [path, query, form]);
  return collection;
}

export interface Live<Item> {
  items: Item[];
  load: Load;
  message: string;
}

/** All objects of a kind that the viewer may see. */
export function useObjects<Item = KubeObject>(resource: Resource | null, namespace = "", query = ""): Live<Item> {
  const scope = useScope();
  const path = resource ? pathOf(resource, namespace || scope) : null;
  const collection = useCollection<Item>(path, query, "object");
  return {
    items: collection ? [...collection.items.values()] : [],
    load: collection?.load ?? "loading",
    message: collection?.message ?? "",
  };
}

/** One object, live. */
export function useObject<Item = KubeObject>(resource: Resource | null, namespace: string, name: string): Live<Item> {
  return useObjects<Item>(resource, namespace, `fieldSelector=metadata.name%3D${encodeURIComponent(name)}`);
}

/** A kind as the server's own table. */
export function useTable(resource: Resource | null, namespace = ""): Collection<TableRow> | null {
  const scope = useScope();
  return useCollection<TableRow>(resource ? pathOf(resource, namespace || scope) : null, "", "table");
}
