// The address bar is the state: every view, filter and tab is a link.

import { useLayoutEffect, useState } from "preact/hooks";

const listeners = new Set<() => void>();

export function navigate(to: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  for (const listener of listeners) listener();
  if (!options.replace) scrollTo(0, 0);
}

addEventListener("popstate", () => {
  for (const listener of listeners) listener();
});

/** Clicks on links stay on this page; those with a modifier are the browser's. */
document.addEventListener("click", (event) => {
  const link = (event.target as Element | null)?.closest?.("a");
  if (!link || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target) return;
  if (link.origin !== location.origin || link.hasAttribute("download") || link.pathname.startsWith("/login/")) return;
  if (link.hash && link.pathname === location.pathname) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
});

export interface Place {
  path: string;
  parts: string[];
  query: URLSearchParams;
}

/** A part of a path as text; one with a percent sign that encodes nothing, as typed by hand, stays as it is. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function read(): Place {
  const path = location.pathname;
  const parts = path.split("/").filter(Boolean).map(decodePart);
  return { path, parts, query: new URLSearchParams(location.search) };
}

/** The current place. It subscribes before the first paint, so that no change of the address is missed. */
export function usePlace(): Place {
  const [place, setPlace] = useState(read);
  useLayoutEffect(() => {
    const listener = () => setPlace(read());
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return place;
}

/** The same place with other parameters; empty ones go. */
export function withQuery(changes: Record<string, string>): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  return location.pathname + (text ? `?${text}` : "");
}
