import React, { useId } from 'react';
import { IChartData, ticks } from '../chart';

export const HEIGHT = 150;
export const BOX = { left: 38, right: 8, top: 8, bottom: 18 };
/** The width of a letter of the labels, about. */
const LETTER = 6.2;

export interface IScale {
  x: (t_s: number) => number;
  y: (memory: number) => number;
  time: (x: number) => number;
  left: number;
  right: number;
}

export function scales(shown: IChartData, width: number): IScale {
  const [left, right] = [BOX.left, Math.max(BOX.left + 1, width - BOX.right)];
  const perSecond = (right - left) / (shown.to - shown.from);
  const height = HEIGHT - BOX.top - BOX.bottom;
  const within = (x: number) => Math.min(Math.max(x, left), right);
  return {
    x: t_s => left + (shown.axis.drawn(t_s) - shown.from) * perSecond,
    y: memory => BOX.top + height * (1 - memory / shown.top),
    time: x => shown.axis.time(shown.from + (within(x) - left) / perSecond),
    left,
    right
  };
}

/** Draws everything but what the pointer is at, and not again when that moves. */
export const Chart = React.memo(Drawing);

function Drawing(props: {
  shown: IChartData;
  scale: IScale;
  limitName: string;
}): JSX.Element {
  const { shown, scale, limitName } = props;
  const { x, y, left, right } = scale;
  const bottom = HEIGHT - BOX.bottom;
  const visible = useId();
  const within = (x: number) => Math.min(Math.max(x, left), right);
  const inside = `url(#${visible})`;
  let free = -Infinity;
  return (
    <>
      <clipPath id={visible}>
        <rect x={left} y={0} width={right - left + 4} height={HEIGHT} />
      </clipPath>
      {ticks(shown.top).map(value => (
        <React.Fragment key={value}>
          <line x1={left} x2={right} y1={y(value)} y2={y(value)} />
          <text x={left - 5} y={y(value) + 3} textAnchor="end">
            {value.toLocaleString()}
          </text>
        </React.Fragment>
      ))}
      {shown.bands.map(band => {
        const [from, to] = [within(x(band.from)), within(x(band.to))];
        const wide = band.label.length * LETTER;
        // The cell in which the kernel died keeps its label, however short it was.
        const start = Math.min((from + to - wide) / 2, right - wide);
        const isFatal = band.fatal && to > left && from < right;
        const fits = (to - from >= wide || isFatal) && start > free;
        if (fits) {
          free = start + wide + 3;
        }
        const kind = band.fatal ? 'jp-mod-fatal' : band.odd ? 'jp-mod-odd' : '';
        return (
          <React.Fragment key={band.from}>
            <rect
              className={kind}
              x={from}
              y={BOX.top}
              width={Math.max(0, to - from)}
              height={bottom - BOX.top}
            />
            {fits && (
              <text x={start} y={HEIGHT - 5}>
                {band.label}
              </text>
            )}
          </React.Fragment>
        );
      })}
      {shown.gaps.map(gap => (
        <rect
          key={gap.from}
          className="jp-mod-gap"
          clipPath={inside}
          x={x(gap.from)}
          y={BOX.top}
          width={x(gap.to) - x(gap.from)}
          height={bottom - BOX.top}
        />
      ))}
      <g clipPath={inside}>
        <path d={outline(shown, scale, true)} className="jp-mod-area" />
        <path d={outline(shown, scale, false)} />
      </g>
      {shown.limit !== null && (
        <g className="jp-mod-limit">
          <line x1={left} x2={right} y1={y(shown.limit)} y2={y(shown.limit)} />
          <text x={left + 4} y={y(shown.limit) - 3}>
            {limitName}
          </text>
        </g>
      )}
      {shown.death && (
        <g className="jp-mod-death" clipPath={inside}>
          <line
            x1={x(shown.death.at)}
            x2={x(shown.death.at)}
            y1={BOX.top}
            y2={bottom}
          />
          {shown.death.memory !== null && (
            <circle cx={x(shown.death.at)} cy={y(shown.death.memory)} r={3.4} />
          )}
        </g>
      )}
    </>
  );
}

/** Return the curve as an SVG path; closed at the bottom for the area below it. */
function outline(
  { data: [times, memory] }: IChartData,
  { x, y }: IScale,
  isClosed: boolean
): string {
  const pieces: string[][] = [[]];
  times.forEach((t_s, i) => {
    const value = memory[i];
    if (value === null) {
      pieces.push([]);
    } else {
      const point = `${x(t_s).toFixed(1)} ${y(value).toFixed(1)}`;
      pieces[pieces.length - 1].push(point);
    }
  });
  const end = (point: string) => `${point.split(' ')[0]} ${y(0)}`;
  return pieces
    .filter(points => points.length > 0)
    .map(points =>
      isClosed
        ? `M${[end(points[0]), ...points, end(points[points.length - 1])].join('L')}Z`
        : `M${points.join('L')}`
    )
    .join('');
}
