// A value that a request brings; asked for again when its inputs change.

import { useEffect, useState } from "preact/hooks";

export interface Async<T> {
  value: T | undefined;
  error: Error | null;
  isLoading: boolean;
}

export function useAsync<T>(work: () => Promise<T>, inputs: unknown[]): Async<T> {
  const [state, setState] = useState<Async<T>>({ value: undefined, error: null, isLoading: true });
  useEffect(() => {
    let isCurrent = true;
    setState((before) => ({ ...before, isLoading: true }));
    work().then(
      (value) => isCurrent && setState({ value, error: null, isLoading: false }),
      (error: Error) => isCurrent && setState((before) => ({ value: before.value, error, isLoading: false })),
    );
    return () => {
      isCurrent = false;
    };
  }, inputs);
  return state;
}
