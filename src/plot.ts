import uPlot from 'uplot';
import { IChartData } from './chart';

/** The theme's colours, for the canvas. */
interface IColors {
  memory: string;
  danger: string;
  text: string;
  grid: string;
  font: string;
}

export const HEIGHT = 150;
const BELOW = 18;

export function draw(
  host: HTMLElement,
  data: IChartData,
  limitName: string
): uPlot {
  const colors = themeColors(host);
  const options: uPlot.Options = {
    width: Math.max(host.clientWidth, 1),
    height: HEIGHT,
    padding: [8, 8, BELOW, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: [data.from, data.to] },
      y: { range: [0, data.top] }
    },
    axes: [
      { show: false },
      {
        stroke: colors.text,
        font: `10px ${colors.font}`,
        size: 36,
        gap: 4,
        space: 26,
        ticks: { show: false },
        grid: { stroke: colors.grid, width: 1 },
        values: (_, splits) => splits.map(value => value.toLocaleString())
      }
    ],
    series: [
      {},
      {
        stroke: colors.memory,
        fill: translucent(colors.memory, 0.15),
        width: 1.6,
        points: { show: false }
      }
    ],
    hooks: {
      drawClear: [chart => drawBands(chart, data, colors)],
      draw: [
        chart => {
          drawLabels(chart, data, colors);
          drawLimit(chart, data, limitName, colors);
          drawDeath(chart, data, colors);
        }
      ]
    }
  };
  return new uPlot(options, data.data, host);
}

function drawBands(chart: uPlot, data: IChartData, colors: IColors): void {
  const { ctx, bbox } = chart;
  data.bands.forEach((band, i) => {
    const [left, right] = edges(chart, band);
    if (right > left) {
      ctx.fillStyle = band.fatal
        ? translucent(colors.danger, 0.12)
        : translucent(colors.memory, i % 2 ? 0.04 : 0.1);
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
  });
}

/** Draw `[8]` below its band, where it fits. */
function drawLabels(chart: uPlot, data: IChartData, colors: IColors): void {
  const { ctx, bbox } = chart;
  const scale = uPlot.pxRatio;
  ctx.save();
  ctx.font = `${10 * scale}px ${colors.font}`;
  ctx.fillStyle = colors.text;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  let free = -Infinity;
  for (const band of data.bands) {
    const [left, right] = edges(chart, band);
    const width = ctx.measureText(band.label).width;
    // The cell in which the kernel died keeps its label, however short it was.
    const start = Math.min(
      (left + right - width) / 2,
      bbox.left + bbox.width - width
    );
    const fits = right - left >= width || band.fatal;
    if (right >= bbox.left && fits && start > free) {
      ctx.fillText(band.label, start, bbox.top + bbox.height + 4 * scale);
      free = start + width + 4 * scale;
    }
  }
  ctx.restore();
}

function drawLimit(
  chart: uPlot,
  data: IChartData,
  name: string,
  colors: IColors
): void {
  if (data.limit === null) {
    return;
  }
  const { ctx, bbox } = chart;
  const scale = uPlot.pxRatio;
  const y = chart.valToPos(data.limit, 'y', true);
  ctx.save();
  ctx.strokeStyle = colors.danger;
  ctx.lineWidth = scale;
  ctx.setLineDash([4 * scale, 3 * scale]);
  line(ctx, bbox.left, y, bbox.left + bbox.width, y);
  ctx.font = `${10 * scale}px ${colors.font}`;
  ctx.fillStyle = colors.danger;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'bottom';
  ctx.fillText(name, bbox.left + 4 * scale, y - 3 * scale);
  ctx.restore();
}

function drawDeath(chart: uPlot, data: IChartData, colors: IColors): void {
  if (data.death === null) {
    return;
  }
  const { ctx, bbox } = chart;
  const scale = uPlot.pxRatio;
  const x = chart.valToPos(data.death.at, 'x', true);
  ctx.save();
  ctx.strokeStyle = colors.danger;
  ctx.lineWidth = 1.4 * scale;
  line(ctx, x, bbox.top, x, bbox.top + bbox.height);
  if (data.death.memory !== null) {
    ctx.fillStyle = colors.danger;
    ctx.beginPath();
    ctx.arc(
      x,
      chart.valToPos(data.death.memory, 'y', true),
      3.4 * scale,
      0,
      2 * Math.PI
    );
    ctx.fill();
  }
  ctx.restore();
}

function line(
  ctx: CanvasRenderingContext2D,
  x0: number,
  y0: number,
  x1: number,
  y1: number
): void {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

/** Where a band begins and ends on the canvas, within the visible stretch. */
function edges(
  chart: uPlot,
  band: { from: number; to: number }
): [number, number] {
  const { left, width } = chart.bbox;
  const clip = (x: number) => Math.min(Math.max(x, left), left + width);
  return [
    clip(chart.valToPos(band.from, 'x', true)),
    clip(chart.valToPos(band.to, 'x', true))
  ];
}

function themeColors(host: HTMLElement): IColors {
  const style = getComputedStyle(host);
  const color = (name: string) => style.getPropertyValue(name).trim();
  return {
    memory: color('--jp-brand-color1'),
    danger: color('--jp-error-color1'),
    text: color('--jp-ui-font-color2'),
    grid: color('--jp-border-color2'),
    font: style.fontFamily
  };
}

/** A canvas knows no CSS variables and no opacity of one colour; it does write colours as #rrggbb. */
function translucent(color: string, alpha: number): string {
  const ctx = document.createElement('canvas').getContext('2d');
  if (!ctx) {
    return color;
  }
  ctx.fillStyle = color;
  const hex = Math.round(alpha * 255)
    .toString(16)
    .padStart(2, '0');
  return ctx.fillStyle.length === 7 ? ctx.fillStyle + hex : color;
}
