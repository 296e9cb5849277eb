/** What is left of every rate limit, as bars that move. */
import { getJson } from "./api.js";
import { h, number, setText } from "./dom.js";
import { pollVisibly } from "./poll.js";

export function show(content, { signal }) {
  const problem = h("p", { class: "problem", role: "status" });
  const empty = h("p", { hidden: true }, "No rate limit is configured.");
  const list = h("ul", { class: "budgets" });
  const bars = new Map();
  content.append(problem, empty, list);
  pollVisibly(1000, signal, problem, async () => {
    const budgets = await getJson("budgets", signal);
    empty.hidden = budgets.length > 0;
    const keys = budgets.map(({ scope, entry }) => `${scope}\n${entry}`);
    for (const [key, bar] of bars) {
      if (keys.includes(key)) continue;
      bar.element.remove();
      bars.delete(key);
    }
    for (const [index, budget] of budgets.entries()) {
      const known = bars.get(keys[index]) ?? createBar(budget);
      if (!bars.has(keys[index])) list.append(known.element);
      bars.set(keys[index], known);
      known.update(budget);
    }
  });
}

/** The same element for the life of a budget, so that its bar moves and focus stays. */
function createBar({ scope, entry }) {
  const fill = h("span");
  const bar = h(
    "div",
    {
      class: "bar",
      role: "meter",
      "aria-label": `${entry} of ${scope}`,
      "aria-valuemin": 0,
    },
    fill,
  );
  const left = h("p", { class: "left" });
  const counts = h("p", { class: "quiet" });
  return {
    element: h(
      "li",
      {},
      h("h2", {}, entry),
      h("p", { class: "quiet" }, scope),
      bar,
      left,
      counts,
    ),
    update(budget) {
      const { remaining, limit, unit } = budget;
      const isKnown = Number.isFinite(remaining);
      const share = isKnown ? Math.max(0, remaining) / Math.max(limit, 1) : 1;
      fill.style.width = `${Math.min(100, share * 100)}%`;
      bar.classList.toggle("low", share < 0.2);
      const text = isKnown
        ? `${number(remaining)} of ${number(limit)} ${unit} left`
        : `${number(limit)} ${unit}; what is left is not known here`;
      bar.setAttribute("aria-valuemax", limit);
      bar.setAttribute(
        "aria-valuenow",
        isKnown ? Math.max(0, remaining) : limit,
      );
      bar.setAttribute("aria-valuetext", text);
      setText(left, text + describeReset(budget));
      setText(counts, describeCounts(budget));
    },
  };
}

function describeReset({ resetSeconds, windowSeconds }) {
  if (resetSeconds === undefined) return `; window of ${windowSeconds} s`;
  return `; resets in ${resetSeconds} s of ${windowSeconds} s`;
}

function describeCounts(budget) {
  const names = {
    admitted: "admitted",
    refused: "refused",
    tokens: "tokens counted",
    overshoot: "tokens beyond the budget",
    keys: "keys",
    evictedKeys: "keys evicted",
    leased: "leased",
    pending: "not settled yet",
    state: "state",
    lastError: "last error",
  };
  return Object.entries(names)
    .filter(([field]) => budget[field] !== undefined && budget[field] !== 0)
    .map(([field, name]) => `${name}: ${budget[field]}`).join(" · ");
}
