// Every kind that the server serves and the viewer may list.

import { getJson } from "../api/http";
import type { Resource } from "../api/objects";
import { useAsync } from "./async";

interface AggregatedList {
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

let cached: Promise<Resource[]> | null = null;

export function loadResources(): Promise<Resource[]> {
  cached ??= fetchResources().catch((error: unknown) => {
    cached = null;
    throw error;
  });
  return cached;
}

async function fetchResources(): Promise<Resource[]> {
  const lists = await Promise.all(
    ["/k8s/api", "/k8s/apis"].map((path) => getJson<AggregatedList>(path, { headers: { Accept: ACCEPT } })),
  );
  const found: Resource[] = [];
  for (const group of lists.flatMap((list) => list.items ?? [])) {
    const version = group.versions[0];
    for (const each of version?.resources ?? []) {
      if (!version || !each.verbs.includes("list")) continue;
      found.push({
        group: group.metadata.name ?? "",
        version: version.version,
        resource: each.resource,
        kind: each.responseKind.kind,
        namespaced: each.scope === "Namespaced",
        verbs: each.verbs,
        shortNames: each.shortNames ?? [],
      });
    }
  }
  return found.sort((a, b) => a.kind.localeCompare(b.kind));
}

export function useResources(): Resource[] {
  return useAsync(loadResources, []).value ?? [];
}

export function findResource(resources: Resource[], apiVersion: string, kind: string): Resource | undefined {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return resources.find((each) => each.group === group && each.kind === kind);
}
