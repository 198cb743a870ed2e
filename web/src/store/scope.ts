// The namespace that lists are limited to. Somebody who may not list everywhere chooses one.

import { useLayoutEffect, useState } from "preact/hooks";

const KEY = "quarterdeck-namespace";
const listeners = new Set<() => void>();
let current = localStorage.getItem(KEY) ?? "";

export function getScope(): string {
  return current;
}

export function setScope(namespace: string): void {
  if (namespace === current) return;
  current = namespace;
  localStorage.setItem(KEY, namespace);
  for (const listener of listeners) listener();
}

export function useScope(): string {
  const [scope, set] = useState(current);
  useLayoutEffect(() => {
    const listener = () => set(current);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return scope;
}
