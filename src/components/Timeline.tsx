import React, { useEffect, useMemo, useState } from 'react';
import { ITimeline } from '../api';
import { chartData, nearest, Range, startOfInterest, zoomed } from '../chart';
import { useDoctor } from '../context';
import { bytes, duration } from '../format';
import { plain } from '../text';
import { BOX, Chart, HEIGHT, scales } from './Chart';
import { Link } from './Link';

/** A shorter drag is a click. */
const SHORTEST_DRAG = 8;
/** What an arrow key moves the line by that is read out. */
const STEP = 6;

/** Shows the memory of the kernel over the seconds since its start, its cells, and its limit. */
export function Timeline(props: { timeline: ITimeline }): JSX.Element {
  const { trans } = useDoctor();
  const { timeline } = props;
  const [range, setRange] = useState<Range | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const [host, width] = useWidth();
  const shown = useMemo(() => chartData(timeline, range), [timeline, range]);
  const scale = useMemo(() => scales(shown, width), [shown, width]);
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
  const { axis } = shown;
  const at = pointed === null ? null : nearest(timeline, scale.time(pointed));
  const readOut = at
    ? [
        at.cell,
        trans.__('at %1', duration(trans, at.t_s)),
        at.memory_bytes === null ? '' : bytes(at.memory_bytes)
      ]
        .filter(Boolean)
        .join(' · ')
    : '';
  const peak = measured.reduce((a, b) => Math.max(a, b));
  const whole: Range = [0, axis.end];
  const isWhole = shown.from <= 0 && shown.to >= axis.end;
  const idle = axis.gaps.reduce((sum, { from, to }) => sum + to - from, 0);

  const zoom = (factor: number) => {
    const middle =
      pointed === null ? shown.to : axis.drawn(scale.time(pointed));
    setRange(zoomed(shown, factor, middle));
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const move = (to: number) =>
      setPointed(Math.min(scale.right, Math.max(scale.left, to)));
    const actions: Record<string, () => void> = {
      ArrowLeft: () => move((pointed ?? scale.right + STEP) - STEP),
      ArrowRight: () => move((pointed ?? scale.left - STEP) + STEP),
      '+': () => zoom(0.5),
      '-': () => zoom(2),
      Escape: () => setPointed(null)
    };
    if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  };
  const xOf = (event: React.PointerEvent) =>
    event.clientX - event.currentTarget.getBoundingClientRect().left;
  const onPointerUp = () => {
    if (dragged !== null && pointed !== null) {
      const ends = [dragged, pointed].map(x => axis.drawn(scale.time(x)));
      if (Math.abs(pointed - dragged) >= SHORTEST_DRAG) {
        setRange([Math.min(...ends), Math.max(...ends)]);
      }
    }
    setDragged(null);
  };
  return (
    <figure className="jp-KernelDoctor-timeline" ref={host}>
      <svg
        role="slider"
        tabIndex={0}
        width={width}
        height={HEIGHT}
        aria-label={trans.__(
          'Memory of the kernel over %1, at most %2',
          duration(trans, axis.time(shown.to) - axis.time(shown.from)),
          bytes(peak)
        )}
        aria-valuemin={0}
        aria-valuemax={Math.round(axis.time(shown.to))}
        aria-valuenow={Math.round(at?.t_s ?? axis.time(shown.to))}
        aria-valuetext={readOut || undefined}
        onKeyDown={onKeyDown}
        onBlur={() => setPointed(null)}
        onPointerDown={event => setDragged(xOf(event))}
        onPointerMove={event => setPointed(xOf(event))}
        onPointerUp={onPointerUp}
        onPointerLeave={() => {
          setPointed(null);
          setDragged(null);
        }}
      >
        <Chart shown={shown} scale={scale} limitName={limitName} />
        {dragged !== null && pointed !== null && (
          <rect
            x={Math.min(dragged, pointed)}
            y={BOX.top}
            width={Math.abs(pointed - dragged)}
            height={HEIGHT - BOX.bottom - BOX.top}
          />
        )}
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
            <span>{readOut}</span>
          ) : (
            <>
              <span>
                {shown.from > 0
                  ? duration(trans, axis.time(shown.from))
                  : trans.__('0 s')}
              </span>
              <span>
                {trans.__(
                  '%1 · memory in %2',
                  duration(trans, axis.time(shown.to)),
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
        {idle > 0 && (
          <div>
            {trans.__(
              'Grey: %1 in which no cell ran, drawn short.',
              duration(trans, idle)
            )}
          </div>
        )}
        <div className="jp-KernelDoctor-zoom">
          <Link onClick={() => zoom(0.5)}>{trans.__('Zoom in')}</Link>
          {!isWhole && (
            <>
              <Link onClick={() => zoom(2)}>{trans.__('Zoom out')}</Link>
              <Link onClick={() => setRange(whole)}>
                {trans.__('Show the whole time')}
              </Link>
            </>
          )}
          {isWhole && startOfInterest(timeline, axis) > 0 && (
            <Link onClick={() => setRange(null)}>
              {trans.__('Show only the end')}
            </Link>
          )}
        </div>
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
