// Which view shows a kind best.

import type { Resource } from "../api/objects";

const VIEWS: Record<string, (namespace: string, name: string) => string> = {
  "cloudnative.elide.dev/Application": (namespace, name) => `/applications/${namespace}/${name}`,
  "clusterpulse.io/ClusterConnection": (_, name) => `/clusters/${name}`,
  "fleetmanagement.grafana.com/Pipeline": (namespace, name) => `/pipelines/${namespace}/${name}`,
  "hypervisor.hyperfleet.io/Fleet": (namespace, name) => `/machines/fleets/${namespace}/${name}`,
  "hypervisor.hyperfleet.io/MachineClaim": (namespace, name) => `/machines/claims/${namespace}/${name}`,
  "experiments.illm.io/Experiment": (namespace, name) => `/experiments/${namespace}/${name}`,
};

export function viewOf(resource: Pick<Resource, "group" | "kind">, namespace: string | undefined, name: string): string | null {
  return VIEWS[`${resource.group}/${resource.kind}`]?.(encodeURIComponent(namespace ?? ""), encodeURIComponent(name)) ?? null;
}
