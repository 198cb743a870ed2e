// The tree an object stands in: its owners above it, what it owns below.

import { getJson } from "../api/http";
import { type KubeObject, type ObjectMeta, type Resource, linkTo, pathOf } from "../api/objects";
import { useAsync } from "../store/async";
import { loadResources } from "../store/discovery";
import { Empty, Loading, Panel } from "../ui/basics";

interface Node {
  resource: Resource;
  metadata: ObjectMeta;
  children: Node[];
}

const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

async function loadNodes(namespace: string): Promise<Map<string, Node>> {
  const nodes = new Map<string, Node>();
  const kinds = (await loadResources()).filter((each) => each.resource !== "events" && (!namespace || each.namespaced));
  await Promise.all(
    kinds.map(async (resource) => {
      try {
        const list = await getJson<{ items?: KubeObject[] }>(`/k8s${pathOf(resource, namespace)}?limit=5000`, { headers: { Accept: METADATA } });
        for (const { metadata } of list.items ?? []) if (!nodes.has(metadata.uid)) nodes.set(metadata.uid, { resource, metadata, children: [] });
      } catch {
        // a kind that the viewer may not list is left out
      }
    }),
  );
  return nodes;
}

async function loadTree(object: KubeObject): Promise<Node | null> {
  const nodes = await loadNodes(object.metadata.namespace ?? "");
  for (const node of nodes.values()) {
    for (const owner of node.metadata.ownerReferences ?? []) nodes.get(owner.uid)?.children.push(node);
  }
  let root = nodes.get(object.metadata.uid) ?? null;
  const seen = new Set<Node>();
  while (root && !seen.has(root)) {
    seen.add(root);
    const owners: Node[] = (root.metadata.ownerReferences ?? []).flatMap((owner) => nodes.get(owner.uid) ?? []);
    if (!owners[0]) break;
    root = owners[0];
  }
  return root;
}

export function Owners({ object }: { resource: Resource; object: KubeObject }) {
  const tree = useAsync(() => loadTree(object), [object.metadata.uid, object.metadata.resourceVersion]);
  if (!tree.value) return <Panel title="Owners">{tree.isLoading ? <Loading /> : <Empty title="The tree cannot be read">{tree.error?.message}</Empty>}</Panel>;
  const isAlone = tree.value.children.length === 0 && tree.value.metadata.uid === object.metadata.uid;
  return (
    <Panel title="Owners">
      <div class="body tree" data-testid="owners">
        <ul>
          <Branch node={tree.value} self={object.metadata.uid} depth={0} />
        </ul>
        {isAlone && <p class="muted">Nothing owns this object, and it owns nothing that you may see.</p>}
      </div>
    </Panel>
  );
}

function Branch({ node, self, depth }: { node: Node; self: string; depth: number }) {
  const { metadata, resource } = node;
  const children = node.children.sort((a, b) => a.resource.kind.localeCompare(b.resource.kind) || a.metadata.name.localeCompare(b.metadata.name));
  return (
    <li>
      <div class={`row ${metadata.uid === self ? "self" : ""}`}>
        <span class="faint">{resource.kind}</span>
        <a href={linkTo(resource, metadata.namespace, metadata.name)}>{metadata.name}</a>
      </div>
      {children.length > 0 && depth < 12 && (
        <ul>
          {children.map((child) => (
            <Branch key={child.metadata.uid} node={child} self={self} depth={depth + 1} />
          ))}
        </ul>
      )}
    </li>
  );
}
