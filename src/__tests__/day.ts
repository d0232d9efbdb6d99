import { ITimeline } from '../api';

/** What the server tells of 24 hours with more cells than it tells. */
export function dayTimeline(): ITimeline {
  const t_s = Array.from({ length: 600 }, (_, i) => 142 * i);
  return {
    started: '2026-11-21T14:02:11Z',
    samples: { t_s, memory_bytes: t_s.map(() => 2 ** 30) },
    limit: null,
    cells: Array.from({ length: 500 }, (_, i) => ({
      execution_count: i,
      start_s: 170 * i + 165,
      end_s: 170 * i + 170
    })),
    death_s: 85_000
  };
}
