// Edit as YAML: the server is asked first what would change, then to change it.

import { useEffect, useState } from "preact/hooks";
import { getJson } from "../api/http";
import { type KubeObject, type Resource, linkTo, pathOf } from "../api/objects";
import { navigate } from "../router";
import { Loading, Panel } from "../ui/basics";
import { Diff } from "../ui/diff";

type YamlModule = typeof import("js-yaml");

export function Editor({ resource, object }: { resource: Resource; object: KubeObject }) {
  const [yaml, setYaml] = useState<YamlModule | null>(null);
  const [base, setBase] = useState<KubeObject | null>(null);
  const [text, setText] = useState("");
  const [plan, setPlan] = useState<{ text: string; stored: KubeObject } | null>(null);
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState("");
  const path = `/k8s${pathOf(resource, object.metadata.namespace, object.metadata.name)}`;
  const start = async () => {
    const [module, found] = await Promise.all([import("js-yaml"), getJson<KubeObject>(`${path}?reveal=true`)]);
    setYaml(module);
    setBase(found);
    setText(module.dump(clean(found), { lineWidth: -1, noRefs: true }));
    setPlan(null);
    setProblem("");
  };
  useEffect(() => void start().catch((error: Error) => setProblem(error.message)), [object.metadata.uid]);
  if (!yaml || !base) return <Panel title="Edit">{problem ? <p class="body notice bad">{problem}</p> : <Loading />}</Panel>;
  const isStale = identify(object) !== identify(base);
  const send = async (dryRun: boolean) => {
    setProblem("");
    setSending(true);
    try {
      const wanted = readObject(yaml, text);
      // changes of the status alone are no conflict: they leave the generation as it is
      const current = isStale ? base : object;
      const metadata = { ...wanted.metadata, resourceVersion: current.metadata.resourceVersion };
      const body = JSON.stringify({ ...wanted, metadata, status: current.status });
      const query = `fieldManager=dashboard&fieldValidation=Strict&reveal=true${dryRun ? "&dryRun=All" : ""}`;
      const stored = await getJson<KubeObject>(`${path}?${query}`, { method: "PUT", body, headers: { "Content-Type": "application/json" } });
      if (dryRun) setPlan({ text, stored });
      else navigate(linkTo(resource, object.metadata.namespace, object.metadata.name));
    } catch (error) {
      setPlan(null);
      setProblem((error as Error).message);
    } finally {
      setSending(false);
    }
  };
  // a preview of a text that was edited while the server was asked is not one of what would be applied
  const shown = plan?.text === text ? plan.stored : null;
  const show = (each: KubeObject) => yaml.dump(clean(each), { lineWidth: -1, noRefs: true });
  return (
    <div class="stack">
      {isStale && (
        <p class="notice warn">
          The object has changed since you began. <button type="button" class="button small" onClick={() => void start()}>Start again from the new one</button>
        </p>
      )}
      {problem && (
        <p class="notice bad" role="alert">
          {problem}
        </p>
      )}
      <Panel
        title="Edit"
        actions={
          <>
            <button type="button" class="button" disabled={isSending} onClick={() => void send(true)}>
              Preview changes
            </button>
            <button type="button" class="button primary" disabled={!shown || isSending} onClick={() => void send(false)}>
              Apply
            </button>
          </>
        }
      >
        <textarea
          class="editor"
          aria-label="YAML"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </Panel>
      {shown && (
        <Panel title="What the server would store">
          <Diff before={show(base)} after={show(shown)} />
        </Panel>
      )}
    </div>
  );
}

function readObject(yaml: YamlModule, text: string): KubeObject {
  const found = yaml.load(text);
  if (found === null || typeof found !== "object" || Array.isArray(found)) {
    throw new Error("The text is no object: it needs apiVersion, kind and metadata at its top level.");
  }
  return found as KubeObject;
}

/** What changes when somebody else has changed the object, apart from its status. */
function identify({ metadata }: KubeObject): string {
  const { generation, labels, annotations, finalizers, ownerReferences, deletionTimestamp, resourceVersion, uid } = metadata;
  return JSON.stringify([uid, generation ?? resourceVersion, labels, annotations, finalizers, ownerReferences, deletionTimestamp]);
}

/** Without what a person neither reads nor writes. */
function clean(object: KubeObject): KubeObject {
  const { managedFields: _, resourceVersion: __, ...metadata } = object.metadata;
  const { status: ___, ...rest } = object;
  return { ...rest, metadata: metadata as KubeObject["metadata"] };
}
