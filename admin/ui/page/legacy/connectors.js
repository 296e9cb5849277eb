/** Draws lines between visible rows. */
import { svg } from "./dom.js";
import { columns } from "./route_model.js";

/** Draws the chains into `picture`; `lists` are the columns by name. */
export function drawChains(picture, chains, lists) {
  const origin = picture.getBoundingClientRect();
  const seen = new Map();
  for (const { name } of columns) {
    for (const [id, row] of lists[name].visible()) {
      seen.set(id, row.getBoundingClientRect());
    }
  }
  const lines = new Map();
  for (const chain of chains) {
    for (const [from, to] of stepsOf(chain)) {
      const key = `${from}\n${to}`;
      const [a, b] = [seen.get(from), seen.get(to)];
      if (a === undefined || b === undefined || lines.has(key)) continue;
      lines.set(key, curve(a, b, origin));
    }
  }
  picture.replaceChildren(...lines.values());
}

/** Returns pairs of neighbors; skips empty columns. */
function stepsOf(chain) {
  const steps = columns.map(({ name }) => chain[name]).filter((ids) =>
    ids.length > 0
  );
  return steps.slice(1).flatMap((ids, index) =>
    steps[index].flatMap((from) => ids.map((to) => [from, to]))
  );
}

function curve(from, to, origin) {
  const [x1, y1] = [from.right - origin.left, middle(from) - origin.top];
  const [x2, y2] = [to.left - origin.left, middle(to) - origin.top];
  const half = (x1 + x2) / 2;
  return svg("path", {
    d: `M${x1},${y1} C${half},${y1} ${half},${y2} ${x2},${y2}`,
  });
}

function middle({ top, bottom }) {
  return (top + bottom) / 2;
}
