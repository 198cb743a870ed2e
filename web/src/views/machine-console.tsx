// What a machine writes to its serial console, followed while somebody looks.

import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "../api/http";
import { Empty, Loading, Panel } from "../ui/basics";

const LONGEST = 64 * 1024;
const RETRY_MS = 3_000;
/** Colors and cursor movements of terminals, and control characters other than tab and newline. */
const CONTROLS = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007]*\u0007|\u001b[@-_]|[\u0000-\u0008\u000b-\u001f\u007f]/g;

type State = { kind: "loading" } | { kind: "text"; text: string } | { kind: "elsewhere"; url: string } | { kind: "none"; message: string };

export function MachineConsole({ path, phase }: { path: string; phase: string }) {
  const state = useConsole(path, phase);
  const box = useRef<HTMLPreElement>(null);
  const text = state.kind === "text" ? state.text : "";
  useEffect(() => {
    const node = box.current;
    // somebody who has scrolled up to read stays there
    if (node && node.scrollHeight - node.scrollTop - node.clientHeight < 80) node.scrollTop = node.scrollHeight;
  }, [text]);
  return (
    <Panel class="span-12" title="Console">
      {state.kind === "loading" && <Loading />}
      {state.kind === "none" && <Empty title="No console">{state.message}</Empty>}
      {state.kind === "elsewhere" && (
        <div class="body">
          <a href={state.url} target="_blank" rel="noopener noreferrer">
            Open the console at the hypervisor
          </a>
        </div>
      )}
      {state.kind === "text" && (
        <pre ref={box} class="log" role="log" aria-label="Console" tabIndex={0}>
          {text || "The machine has written nothing yet."}
        </pre>
      )}
    </Panel>
  );
}

function useConsole(path: string, phase: string): State {
  const [state, setState] = useState<State>({ kind: "loading" });
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const follow = async () => {
      try {
        const response = await request(`/console?path=${encodeURIComponent(path)}`, { signal: abort.signal });
        if (response.headers.get("content-type")?.startsWith("application/json")) {
          const { url } = (await response.json()) as { url: string };
          return setState(/^https?:/.test(url) ? { kind: "elsewhere", url } : { kind: "none", message: url });
        }
        await read(response, (text) => setState({ kind: "text", text }));
      } catch (error) {
        if (abort.signal.aborted) return;
        const status = (error as { status?: number }).status ?? 0;
        if (status >= 400 && status < 500) return setState({ kind: "none", message: (error as Error).message });
      }
      timer = window.setTimeout(() => void follow(), RETRY_MS); // the connection was cut
    };
    void follow();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [path, phase]);
  return state;
}

async function read(response: Response, onText: (text: string) => void): Promise<void> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  onText(text);
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text = (text + decoder.decode(value, { stream: true })).slice(-LONGEST);
    onText(text.replace(/\r\n?/g, "\n").replace(CONTROLS, ""));
  }
}
