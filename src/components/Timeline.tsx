import React, { useEffect, useMemo, useState } from 'react';
import { ITimeline } from '../api';
import { chartData, nearest, startOfInterest } from '../chart';
import { useDoctor } from '../context';
import { bytes, duration } from '../format';
import { plain } from '../text';
import { BOX, Chart, HEIGHT, scales } from './Chart';

/** Shows the memory of the kernel over the seconds since its start, its cells, and its limit. */
export function Timeline(props: { timeline: ITimeline }): JSX.Element {
  const { trans } = useDoctor();
  const { timeline } = props;
  const [whole, setWhole] = useState(false);
  const [pointed, setPointed] = useState<number | null>(null);
  const [host, width] = useWidth();
  const shown = useMemo(() => chartData(timeline, whole), [timeline, whole]);
  const { limit } = timeline;
  const limitName = limit ? `${plain(limit.name)} ${bytes(limit.bytes)}` : '';
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
  const scale = scales(shown, width);
  const at = pointed === null ? null : nearest(timeline, scale.time(pointed));
  const peak = measured.reduce((a, b) => Math.max(a, b));
  return (
    <figure className="jp-KernelDoctor-timeline" ref={host}>
      <svg
        role="img"
        width={width}
        height={HEIGHT}
        aria-label={trans.__(
          'Memory of the kernel over %1, at most %2',
          duration(trans, shown.to - shown.from),
          bytes(peak)
        )}
        onPointerMove={event =>
          setPointed(
            event.clientX - event.currentTarget.getBoundingClientRect().left
          )
        }
        onPointerLeave={() => setPointed(null)}
      >
        <Chart shown={shown} scale={scale} limitName={limitName} />
        {at && (
          <line
            className="jp-mod-pointed"
            x1={scale.x(at.t_s)}
            x2={scale.x(at.t_s)}
            y1={BOX.top}
            y2={HEIGHT - BOX.bottom}
          />
        )}
      </svg>
      <figcaption>
        <div className="jp-KernelDoctor-times">
          {at ? (
            <span>
              {[
                at.cell,
                trans.__('at %1', duration(trans, at.t_s)),
                at.memory_bytes === null ? '' : bytes(at.memory_bytes)
              ]
                .filter(Boolean)
                .join(' · ')}
            </span>
          ) : (
            <>
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
            </>
          )}
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

/** Return a ref, and the width of what it is given to. */
function useWidth(): [(node: HTMLElement | null) => void, number] {
  const [host, setHost] = useState<HTMLElement | null>(null);
  const [width, setWidth] = useState(300);
  useEffect(() => {
    if (!host) {
      return;
    }
    const resize = new ResizeObserver(() => setWidth(host.clientWidth || 300));
    resize.observe(host);
    return () => resize.disconnect();
  }, [host]);
  return [setHost, width];
}
