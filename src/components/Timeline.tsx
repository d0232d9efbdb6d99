import React, { useEffect, useMemo, useRef, useState } from 'react';
import { ITimeline } from '../api';
import { useDoctor } from '../context';
import { bytes, duration } from '../format';
import { draw, HEIGHT } from '../plot';
import { plain } from '../text';
import { chartData, startOfInterest } from '../chart';

interface IProps {
  timeline: ITimeline;
}

/** Shows the memory of the kernel over the seconds since its start, and its limit. */
export function Timeline({ timeline }: IProps): JSX.Element | null {
  const { trans, themeChanged } = useDoctor();
  const [whole, setWhole] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => chartData(timeline, whole), [timeline, whole]);
  const { limit } = timeline;
  const limitName = limit ? `${plain(limit.name)} ${bytes(limit.bytes)}` : '';

  useEffect(() => {
    const node = host.current;
    if (!node) {
      return;
    }
    let chart = draw(node, shown, limitName);
    const resize = new ResizeObserver(() => {
      chart.setSize({ width: Math.max(node.clientWidth, 1), height: HEIGHT });
    });
    resize.observe(node);
    const repaint = () => {
      chart.destroy();
      chart = draw(node, shown, limitName);
    };
    themeChanged.connect(repaint);
    return () => {
      themeChanged.disconnect(repaint);
      resize.disconnect();
      chart.destroy();
    };
  }, [shown, limitName, themeChanged]);

  const measured = timeline.samples.memory_bytes.filter(
    (memory): memory is number => memory !== null
  );
  if (measured.length === 0) {
    return (
      <p className="jp-KernelDoctor-quiet">
        {trans.__('The memory was not measured before the kernel ended.')}
      </p>
    );
  }
  const peak = measured.reduce((a, b) => Math.max(a, b));
  return (
    <figure className="jp-KernelDoctor-timeline">
      <div
        ref={host}
        role="img"
        aria-label={trans.__(
          'Memory of the kernel over %1, at most %2',
          duration(trans, shown.to - shown.from),
          bytes(peak)
        )}
        style={{ height: HEIGHT }}
      />
      <figcaption>
        <div className="jp-KernelDoctor-times">
          <span>
            {shown.from > 0 ? duration(trans, shown.from) : trans.__('0 s')}
          </span>
          <span>
            {trans.__(
              '%1 · memory in %2',
              duration(trans, shown.to),
              shown.unit
            )}
          </span>
        </div>
        {limit && shown.limit === null && (
          <div>
            {trans.__('The limit (%1) is far above this chart.', limitName)}
          </div>
        )}
        {startOfInterest(timeline) > 0 && (
          <button
            type="button"
            className="jp-KernelDoctor-link"
            onClick={() => setWhole(!whole)}
          >
            {whole
              ? trans.__('Show only the end')
              : trans.__('Show the whole time')}
          </button>
        )}
      </figcaption>
    </figure>
  );
}
