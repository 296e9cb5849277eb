/** Lines between visible rows. */
import { useEffect, useRef, useState } from "../../kit/framework.ts";
import { type Chain, columns, type Model } from "./route_model.ts";

/** A place on the screen. */
interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Draws lines between visible rows, at most once per frame. */
export function useLines(
  element: { readonly current: HTMLElement | null },
  model: Model,
  shown: readonly Chain[],
) {
  const [lines, setLines] = useState<ReadonlyMap<string, string>>(new Map());
  const state = useRef({ model, shown: new Set(shown), frame: 0 });
  useEffect(() => {
    state.current.model = model;
    state.current.shown = new Set(shown);
  }, [model, shown]);
  useEffect(() => () => cancelAnimationFrame(state.current.frame), []);
  const draw = () => {
    state.current.frame = 0;
    const picture = element.current;
    if (picture === null) return;
    const { model: { index }, shown } = state.current;
    const rows = visibleRows(picture);
    const chains = new Set<Chain>();
    for (const id of rows.keys()) {
      // Every chain has a route, but for those of listeners without one.
      if (!id.startsWith("route ")) continue;
      for (const chain of index.get(id) ?? []) {
        if (shown.has(chain)) chains.add(chain);
      }
    }
    for (const id of rows.keys()) {
      if (!id.startsWith("listener ")) continue;
      const own = (index.get(id) ?? [])[0];
      if (own !== undefined && shown.has(own)) chains.add(own);
    }
    const next = drawChains(chains, rows, picture.getBoundingClientRect());
    setLines((old) => isSame(old, next) ? old : next);
  };
  const drawSoon = () => {
    state.current.frame ||= requestAnimationFrame(draw);
  };
  return [lines, drawSoon] as const;
}

function visibleRows(picture: HTMLElement): Map<string, Box> {
  const rows = new Map<string, Box>();
  for (const list of picture.querySelectorAll(".list")) {
    const box = list.getBoundingClientRect();
    for (const row of list.querySelectorAll<HTMLElement>("[data-key]")) {
      const place = row.getBoundingClientRect();
      const middle = (place.top + place.bottom) / 2;
      const key = row.dataset["key"];
      if (key !== undefined && middle > box.top && middle < box.bottom) {
        rows.set(key, place);
      }
    }
  }
  return rows;
}

function isSame(
  a: ReadonlyMap<string, string>,
  b: ReadonlyMap<string, string>,
): boolean {
  return a.size === b.size &&
    [...a].every(([key, line]) => b.get(key) === line);
}

/**
 * Returns the paths of SVG lines that join the visible rows of chains, by their ends. Only chains of visible rows are looked at,
 * so the work does not grow with the number of routes.
 */
function drawChains(
  chains: Iterable<Chain>,
  rows: ReadonlyMap<string, Box>,
  origin: Pick<Box, "left" | "top">,
): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  for (const chain of chains) {
    for (const [from, to] of stepsOf(chain)) {
      const key = `${from}\n${to}`;
      const [a, b] = [rows.get(from), rows.get(to)];
      if (a === undefined || b === undefined || lines.has(key)) continue;
      lines.set(key, curve(a, b, origin));
    }
  }
  return lines;
}

/** Returns pairs of neighbors; skips empty columns. */
function stepsOf(chain: Chain): [string, string][] {
  const steps = columns.map(({ name }) => chain[name]).filter((ids) =>
    ids.length > 0
  );
  return steps.slice(1).flatMap((ids, index) =>
    (steps[index] ?? []).flatMap((from) =>
      ids.map((to): [string, string] => [from, to])
    )
  );
}

function curve(from: Box, to: Box, origin: Pick<Box, "left" | "top">): string {
  const [x1, y1] = [from.right - origin.left, middle(from) - origin.top];
  const [x2, y2] = [to.left - origin.left, middle(to) - origin.top];
  const half = (x1 + x2) / 2;
  return `M${x1},${y1} C${half},${y1} ${half},${y2} ${x2},${y2}`;
}

function middle({ top, bottom }: Box): number {
  return (top + bottom) / 2;
}
