import React from 'react';
import { useDoctor } from '../context';
import { bytes } from '../format';

interface IProps {
  total: number;
  /** In use by all, this kernel included. */
  used: number;
  own: number;
  label: string;
  /** Whether the rest of what is in use is this kernel's, too: reserved, but not used. */
  isReserved?: boolean;
}

/** Shows a limit as a bar: this kernel, all others or what is only reserved, and what is left. */
export function Meter(props: IProps): JSX.Element {
  const { total, used, own, label, isReserved } = props;
  const { trans } = useDoctor();
  const share = (part: number) =>
    `${Math.min(100, (100 * Math.max(0, part)) / total)}%`;
  // Shared pages count for the kernel, and may not count for its container.
  const mine = Math.min(own, used);
  const parts = [bytes(own), bytes(Math.max(0, used - own))];
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
        {isReserved
          ? trans.__('This kernel %1; %2 reserved, not used', ...parts)
          : trans.__('This kernel %1, all others %2', ...parts)}
      </small>
    </div>
  );
}
