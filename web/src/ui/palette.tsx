// Search over everything: pages, kinds, and objects of our kinds by name.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson } from "../api/http";
import { type KubeObject, type Resource, linkTo, pathOf } from "../api/objects";
import { KINDS } from "../generated/kinds";
import { navigate } from "../router";
import { loadResources } from "../store/discovery";
import { viewOf } from "../views/links";

interface Hit {
  label: string;
  kind: string;
  to: string;
  text: string;
  isBuiltIn?: boolean; // an object of a kind of Kubernetes itself
}

const SHOWN = 50;
const PAGE = 2000;
const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const EXTRA = new Set(["Pod", "Deployment", "Service", "Namespace", "ConfigMap", "Job"]);

/**
 * Everything that can be found, read when the palette opens. All objects are added at once: results
 * that move while lists arrive one by one would let Enter open another object than the one that was read.
 */
async function loadHits(add: (hits: Hit[]) => void): Promise<void> {
  const resources = await loadResources();
  add(
    resources.map((each) => ({
      label: each.kind,
      kind: `kind · ${each.group || "core"}`,
      to: `/objects/${each.group || "core"}/${each.version}/${each.resource}`,
      text: [each.kind, each.resource, ...(each.shortNames ?? [])].join(" ").toLowerCase(),
    })),
  );
  const ours = new Set(Object.values(KINDS).map((each) => `${each.group}/${each.kind}`));
  const wanted = resources.filter((each) => ours.has(`${each.group}/${each.kind}`) || EXTRA.has(each.kind));
  const lists = await Promise.all(wanted.map(loadObjects));
  add(lists.flat());
}

async function loadObjects(resource: Resource): Promise<Hit[]> {
  try {
    return (await readPages(`/k8s${pathOf(resource)}`)).map(({ metadata }) => ({
      label: metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name,
      kind: resource.kind,
      to: viewOf(resource, metadata.namespace, metadata.name) ?? linkTo(resource, metadata.namespace, metadata.name),
      text: `${metadata.name} ${metadata.namespace ?? ""} ${resource.kind}`.toLowerCase(),
      isBuiltIn: EXTRA.has(resource.kind),
    }));
  } catch {
    return []; // a kind that the viewer may not list is simply not found
  }
}

async function readPages(path: string): Promise<KubeObject[]> {
  const items: KubeObject[] = [];
  let token = "";
  do {
    const query = `limit=${PAGE}${token ? `&continue=${encodeURIComponent(token)}` : ""}`;
    const page = await getJson<{ metadata: { continue?: string }; items?: KubeObject[] }>(`${path}?${query}`, { headers: { Accept: METADATA } });
    items.push(...(page.items ?? []));
    token = page.metadata.continue ?? "";
  } while (token);
  return items;
}

export function Palette({ pages, onClose }: { pages: { path: string; label: string }[]; onClose(): void }) {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const [hits, setHits] = useState<Hit[]>(() => pages.map((page) => ({ label: page.label, kind: "page", to: page.path, text: page.label.toLowerCase() })));
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    input.current?.focus();
    // without an answer the pages of the dashboard are still found
    loadHits((found) => setHits((before) => [...before, ...found])).catch(() => {});
  }, []);
  const found = useMemo(() => filter(hits, query), [hits, query]);
  const go = (hit: Hit | undefined) => {
    if (!hit) return;
    onClose();
    navigate(hit.to);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    else if (event.key === "ArrowDown") setChosen(Math.min(chosen + 1, found.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(chosen - 1, 0));
    else if (event.key === "Enter") go(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <div class="palette-back fade" onClick={(event) => event.target === event.currentTarget && onClose()}>
      <div class="palette" role="dialog" aria-modal="true" aria-label="Search">
        <input
          ref={input}
          value={query}
          placeholder="Objects, kinds, pages"
          aria-label="Search"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={found[chosen] ? `hit-${chosen}` : undefined}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKey}
        />
        <ul id="palette-list" role="listbox" aria-label="Results">
          {found.map((hit, index) => (
            <li key={hit.to + hit.kind} id={`hit-${index}`} role="option" aria-selected={index === chosen} onClick={() => go(hit)} onMouseMove={() => setChosen(index)}>
              <span class="truncate">{hit.label}</span>
              <span class="kind">{hit.kind}</span>
            </li>
          ))}
        </ul>
        {found.length === 0 && <p class="empty">Nothing that you may see matches “{query}”.</p>}
      </div>
    </div>
  );
}

function filter(hits: Hit[], query: string): Hit[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return hits.slice(0, SHOWN);
  const matching = hits.filter((hit) => words.every((word) => hit.text.includes(word)));
  const rank = (hit: Hit) => (hit.text.startsWith(words[0] ?? "") ? 0 : 2000) + (hit.isBuiltIn ? 1000 : 0) + hit.label.length;
  return matching.sort((a, b) => rank(a) - rank(b)).slice(0, SHOWN);
}
