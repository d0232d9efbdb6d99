import { ISignal } from '@lumino/signaling';
import { useLayoutEffect, useReducer } from 'react';

/** Renders the component again when the signal is emitted. */
export function useSignal<T>(signal: ISignal<T, unknown>): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  // Before the browser paints: what is emitted between would be missed.
  useLayoutEffect(() => {
    signal.connect(again);
    return () => {
      signal.disconnect(again);
    };
  }, [signal]);
}
