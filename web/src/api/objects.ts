// What every Kubernetes object has, as far as the dashboard reads it.

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: unknown[];
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec?: unknown;
  status?: unknown;
}

export interface KubeEvent extends KubeObject {
  involvedObject: { kind: string; name: string; namespace?: string; uid?: string; apiVersion?: string };
  reason?: string;
  message?: string;
  type?: string;
  count?: number;
  firstTimestamp?: string;
  lastTimestamp?: string;
  eventTime?: string;
}

/** A resource as discovery names it. */
export interface Resource {
  group: string;
  version: string;
  resource: string;
  kind: string;
  namespaced: boolean;
  verbs?: readonly string[];
  shortNames?: readonly string[];
}

export interface TableColumn {
  name: string;
  type: string;
  format: string;
  priority: number;
  description: string;
}

export interface TableRow {
  cells: unknown[];
  object: { metadata: ObjectMeta };
}

export interface Table {
  kind: "Table";
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  columnDefinitions: TableColumn[] | null;
  rows: TableRow[] | null;
}

export function pathOf(resource: Resource, namespace?: string, name?: string): string {
  const root = resource.group ? `/apis/${resource.group}/${resource.version}` : `/api/${resource.version}`;
  const scope = namespace && resource.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${resource.resource}${name ? `/${encodeURIComponent(name)}` : ""}`;
}

/** The address of an object's page. */
export function linkTo(resource: Resource, namespace: string | undefined, name: string): string {
  const group = resource.group || "core";
  return `/objects/${group}/${resource.version}/${resource.resource}/${namespace || "-"}/${encodeURIComponent(name)}`;
}

export function conditionsOf(object: KubeObject): Condition[] {
  const status = object.status as { conditions?: Condition[] } | undefined;
  return status?.conditions ?? [];
}

export function findCondition(object: KubeObject, type: string): Condition | undefined {
  return conditionsOf(object).find((each) => each.type === type);
}

export function eventTime(event: KubeEvent): string {
  return event.lastTimestamp || event.eventTime || event.firstTimestamp || event.metadata.creationTimestamp;
}

/** Newest first; times have seconds, so of two events in one second the one written later is newer. */
export function compareEvents(a: KubeEvent, b: KubeEvent): number {
  const written = (event: KubeEvent) => Number(event.metadata.resourceVersion);
  return eventTime(b).localeCompare(eventTime(a)) || written(b) - written(a);
}
