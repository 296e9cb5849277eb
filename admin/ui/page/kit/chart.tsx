/** Time series, drawn by uPlot in the colors of the theme. */
import uPlot from "uplot";
import { timeOfDay } from "./format.ts";
import { cancelDraw, drawSoon } from "./frames.ts";
import { paint } from "./theme.ts";
import { useEffect, useRef } from "./framework.ts";

/** Colors of series by name; each is a custom property in `style/tokens.css`. */
export type SeriesColor =
  | "accent"
  | "good"
  | "warn"
  | "bad"
  | "series-1"
  | "series-2"
  | "series-3"
  | "series-4"
  | "series-5"
  | "series-6";

/** One line of a chart. */
export interface Series {
  readonly label: string;
  readonly color: SeriesColor;
  /** One value for each time; `null` where it is not known. */
  readonly values: readonly (number | null)[];
  /** Fills the area below the line. */
  readonly isFilled?: boolean;
}

interface ChartProps {
  /** Names the chart and says in a sentence what it shows, for screen readers. */
  readonly label: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Formats values at the axis and under the pointer, unit included. */
  readonly format: (value: number) => string;
  /** Height in pixels; 180 by default. */
  readonly height?: number;
  /** Charts with one name move their cursors together. */
  readonly syncKey?: string;
  /** First and last time of the axis; by default, those of the data. */
  readonly span?: readonly [from: number, to: number];
}

/** A chart of lines over time with axes, and the values under the pointer in its legend. */
export function Chart(props: ChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawing | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  // A change of these needs another plot; other data only a drawing.
  const shape = JSON.stringify([
    props.series.map(({ label, color, isFilled }) => [label, color, isFilled]),
    props.height,
    props.syncKey,
    paint.value,
  ]);
  useEffect(() => {
    const target = element.current;
    if (target === null) return;
    drawSoon(target, () => {
      drawn.current = new Drawing(target, () => latest.current);
    });
    return () => {
      cancelDraw(target);
      const drawing = drawn.current;
      if (drawing === undefined) return;
      cancelDraw(drawing);
      drawing.close();
      drawn.current = undefined;
    };
  }, [shape]);
  useEffect(() => {
    const drawing = drawn.current;
    if (drawing !== undefined) drawSoon(drawing, () => drawing.update());
  });
  return (
    <div
      class="chart"
      ref={element}
      style={{ minHeight: `${(props.height ?? HEIGHT) + LEGEND_HEIGHT}px` }}
      role="img"
      aria-label={props.label}
    />
  );
}

/** Height in pixels by default. */
const HEIGHT = 180;
/** Least height of the legend in pixels: the page does not move when the chart is drawn. */
const LEGEND_HEIGHT = 26;

class Drawing {
  readonly #element: HTMLDivElement;
  readonly #props: () => ChartProps;
  readonly #plot: uPlot;
  readonly #observer: ResizeObserver;

  constructor(element: HTMLDivElement, props: () => ChartProps) {
    this.#element = element;
    this.#props = props;
    this.#plot = new uPlot(
      this.#options(element.clientWidth),
      this.#data(),
      element,
    );
    this.#observer = new ResizeObserver(() => {
      const { height = HEIGHT } = props();
      this.#plot.setSize({ width: element.clientWidth, height });
    });
    this.#observer.observe(element);
  }

  update(): void {
    this.#plot.setData(this.#data());
  }

  close(): void {
    this.#observer.disconnect();
    this.#plot.destroy();
  }

  #data(): uPlot.AlignedData {
    const { times, series } = this.#props();
    return [[...times], ...series.map(({ values }) => [...values])];
  }

  #options(width: number): uPlot.Options {
    const { series, height = HEIGHT, syncKey } = this.#props();
    const colorOf = (name: string) => readColor(this.#element, name);
    const axis: uPlot.Axis = {
      stroke: colorOf("quiet"),
      font: "12px system-ui, sans-serif",
      grid: { stroke: colorOf("grid"), width: 1 },
      ticks: { show: false },
    };
    const format = (value: number) => this.#props().format(value);
    return {
      width,
      height,
      // The last label of the axis is centered on its tick.
      padding: [8, 28, 0, 0],
      scales: {
        x: { range: (_, min, max) => [...this.#props().span ?? [min, max]] },
        // Charts begin at zero, so that heights compare.
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
      },
      cursor: {
        drag: { setScale: false, x: false, y: false },
        ...(syncKey === undefined ? {} : { sync: { key: syncKey } }),
      },
      legend: { live: true },
      axes: [
        { ...axis, space: 80, size: 32, values: timeLabels },
        { ...axis, size: 64, values: (_, ticks) => ticks.map(format) },
      ],
      series: [
        {
          value: (_, at) => at === null ? "" : timeOfDay(new Date(at * 1000)),
        },
        ...series.map(({ label, color, isFilled }): uPlot.Series => ({
          label,
          stroke: colorOf(color),
          width: 1.5,
          // A line needs two values: one alone is a point.
          points: { show: true, size: 4, fill: colorOf(color), filter: alone },
          ...(isFilled
            ? { fill: `color-mix(in srgb, ${colorOf(color)} 14%, transparent)` }
            : {}),
          // Without a pointer on the chart, there is no index.
          value: (_, value, __, index) =>
            value !== null ? format(value) : index === null ? "" : "–",
        })),
      ],
    };
  }
}

/** Resolves a custom property to a color that a canvas understands. */
function readColor(element: HTMLElement, name: string): string {
  element.style.color = `var(--${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = "";
  return color;
}

function timeLabels(
  ...[, ticks, , , step]: Parameters<uPlot.Axis.DynamicValues>
): string[] {
  return ticks.map((tick) => timeOfDay(new Date(tick * 1000), step < 60));
}

/** Returns the places of the values without a neighbor. */
function alone(plot: uPlot, index: number): number[] {
  const values = plot.data[index] ?? [];
  const isKnown = (at: number) => typeof values[at] === "number";
  return [...values.keys()].filter((at) =>
    isKnown(at) && !isKnown(at - 1) && !isKnown(at + 1)
  );
}
