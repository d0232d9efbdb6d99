import { useEffect, useReducer } from 'react';
import { useDoctor } from '../context';

/** Renders the component again when a notebook was opened, closed or edited. */
export function useNotebooks(): void {
  const { notebooks } = useDoctor();
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    notebooks.changed.connect(again);
    return () => {
      notebooks.changed.disconnect(again);
    };
  }, [notebooks]);
}
