import React from 'react';
import { useDoctor } from '../context';
import { bytes } from '../format';

interface IProps {
  total: number;
  /** In use by all, this kernel included. */
  used: number;
  own: number;
  label: string;
}

/** Shows a limit as a bar: this kernel, all others, and what is left. */
export function Meter({ total, used, own, label }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const share = (part: number) =>
    `${Math.min(100, (100 * Math.max(0, part)) / total)}%`;
  // Shared pages count for the kernel, and may not count for its container.
  const mine = Math.min(own, used);
  return (
    <div className="jp-KernelDoctor-meter">
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={Math.min(used, total)}
        aria-valuetext={trans.__('%1 of %2', bytes(used), bytes(total))}
      >
        <span className="jp-mod-own" style={{ width: share(mine) }} />
        <span style={{ width: share(used - mine) }} />
      </div>
      <small>
        {trans.__(
          'This kernel %1, all others %2',
          bytes(own),
          bytes(Math.max(0, used - own))
        )}
      </small>
    </div>
  );
}
