// Every kind that the server serves and the viewer may list.

import { useEffect, useState } from "preact/hooks";
import { getJson } from "../api/http";
import type { Resource } from "../api/objects";
import { useAsync } from "./async";

export interface AggregatedList {
  items?: {
    metadata: { name?: string };
    versions: {
      version: string;
      resources: {
        resource: string;
        responseKind: { kind: string };
        scope: string;
        verbs: string[];
        shortNames?: string[];
      }[];
    }[];
  }[];
}

const ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** Kinds are asked for again after this time, because they come and go with their definitions. */
const FRESH_MS = 30_000;
const RETRY_MS = 3_000;

let known: Resource[] = [];
let reading: Promise<Resource[]> | null = null;
let readAt = 0;

export function loadResources(): Promise<Resource[]> {
  if (reading && performance.now() - readAt < FRESH_MS) return reading;
  readAt = performance.now();
  const current = fetchResources();
  reading = current;
  current.then(
    (found) => {
      known = found;
    },
    () => {
      if (reading === current) reading = null;
    },
  );
  return current;
}

async function fetchResources(): Promise<Resource[]> {
  const lists = await Promise.all(
    ["/k8s/api", "/k8s/apis"].map((path) => getJson<AggregatedList>(path, { headers: { Accept: ACCEPT } })),
  );
  return listResources(lists);
}

/** Each kind that can be listed, in the most preferred version that serves it. */
export function listResources(lists: AggregatedList[]): Resource[] {
  const found = new Map<string, Resource>();
  for (const group of lists.flatMap((list) => list.items ?? [])) {
    const name = group.metadata.name ?? "";
    for (const { version, resources } of group.versions) {
      for (const each of resources) {
        const key = `${each.resource}.${name}`;
        if (!each.verbs.includes("list") || found.has(key)) continue;
        found.set(key, {
          group: name,
          version,
          resource: each.resource,
          kind: each.responseKind.kind,
          namespaced: each.scope === "Namespaced",
          verbs: each.verbs,
          shortNames: each.shortNames ?? [],
        });
      }
    }
  }
  return [...found.values()].sort((a, b) => a.kind.localeCompare(b.kind));
}

/** The kinds known so far; if they cannot be read, that is tried again for as long as they are shown. */
export function useResources(): Resource[] {
  const [tries, setTries] = useState(0);
  const { value, error } = useAsync(loadResources, [tries]);
  useEffect(() => {
    if (!error) return;
    const timer = setTimeout(() => setTries(tries + 1), RETRY_MS);
    return () => clearTimeout(timer);
  }, [error]);
  return value ?? known;
}

export function findResource(resources: Resource[], apiVersion: string, kind: string): Resource | undefined {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return resources.find((each) => each.group === group && each.kind === kind);
}
