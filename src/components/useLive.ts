import { useEffect, useReducer } from 'react';
import { useDoctor } from '../context';
import { ILive } from '../live';

/** Return what the server told last, and render again when it tells more. */
export function useLive(): ILive | null {
  const { live } = useDoctor();
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    live.changed.connect(again);
    return () => {
      live.changed.disconnect(again);
    };
  }, [live]);
  return live.shown;
}
