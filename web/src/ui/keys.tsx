// The keyboard: / searches, g and a letter goes somewhere, ? shows this list.

import { useEffect, useRef } from "preact/hooks";
import { navigate } from "../router";

interface Target {
  path: string;
  label: string;
  key: string;
}

const WAIT_MS = 1200;

export function useKeys(pages: Target[], actions: { onSearch(): void; onHelp(): void }): void {
  useEffect(() => {
    let wentAt = 0;
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable) return;
      if (document.querySelector("dialog[open], .palette")) return;
      if (event.key === "/") {
        event.preventDefault();
        actions.onSearch();
      } else if (event.key === "?") {
        actions.onHelp();
      } else if (event.key === "g") {
        wentAt = Date.now();
      } else if (Date.now() - wentAt < WAIT_MS) {
        wentAt = 0;
        const page = pages.find((each) => each.key === event.key);
        if (page) navigate(page.path);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

export function KeyHelp({ pages, onClose }: { pages: Target[]; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const keys: [string, string][] = [["/", "Search everything"], ...pages.map((page): [string, string] => [`g ${page.key}`, page.label]), ["?", "This list"], ["Esc", "Close"]];
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="Keyboard shortcuts">
      <h2>Keyboard</h2>
      <dl class="keys">
        {keys.map(([key, what]) => [
          <dt key={key}>
            <kbd>{key}</kbd>
          </dt>,
          <dd key={what}>{what}</dd>,
        ])}
      </dl>
    </dialog>
  );
}
