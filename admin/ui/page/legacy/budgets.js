/** Shows the remaining budget of rate limits as live bars. */
import { getJson } from "./api.js";
import { duration, h, number, setText } from "./dom.js";
import { pollVisibly } from "./poll.js";

/** Each budget is redrawn every second. */
const MAX_SHOWN = 100;

export function show(content, { signal }) {
  const problem = h("p", { class: "problem", role: "status" });
  const message = h("p", { class: "quiet", role: "status" });
  const find = h("input", { type: "search", placeholder: "route, gateway" });
  const list = h("ul", { class: "budgets" });
  const bars = new Map();
  content.append(
    h("div", { class: "row" }, h("label", {}, "Find ", find), message),
    problem,
    list,
  );
  const update = async () => {
    const text = find.value.trim();
    const query = new URLSearchParams({
      limit: `${MAX_SHOWN}`,
      find: text,
    });
    const { total, budgets } = await getJson(`budgets?${query}`, signal);
    setText(message, describeNumber(total, text));
    showBars(budgets, bars, list);
  };
  find.addEventListener("input", () => update().catch(() => {}));
  pollVisibly(1000, signal, problem, update);
}

function describeNumber(total, text) {
  if (total > MAX_SHOWN) {
    return `The ${MAX_SHOWN} of ${total} budgets with the least remaining.`;
  }
  if (total > 0) return `${total} ${total === 1 ? "budget" : "budgets"}.`;
  return text === "" ? "No rate limit is configured." : "No matching budget.";
}

function showBars(budgets, bars, list) {
  const byKey = new Map(
    budgets.map((budget) => [`${budget.scope}\n${budget.entry}`, budget]),
  );
  for (const [key, bar] of bars) {
    if (byKey.has(key)) continue;
    bar.element.remove();
    bars.delete(key);
  }
  for (const [key, budget] of byKey) {
    const bar = bars.get(key) ?? createBar(budget);
    if (!bars.has(key)) list.append(bar.element);
    bars.set(key, bar);
    bar.update(budget);
  }
}

/** Creates the element of a budget, which is reused for updates, so that the bar moves and focus stays. */
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
        : `${number(limit)} ${unit}; remaining budget unknown`;
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
  const window = duration(windowSeconds);
  return resetSeconds === undefined
    ? `; window of ${window}`
    : `; resets in ${duration(resetSeconds)} of ${window}`;
}

function describeCounts(budget) {
  const names = {
    admitted: "admitted",
    refused: "rejected",
    tokens: "tokens counted",
    overshoot: "tokens over budget",
    keys: "keys",
    evictedKeys: "keys evicted",
    leased: "leased",
    pending: "pending",
    state: "state",
    lastError: "last error",
  };
  return Object.entries(names)
    .filter(([field]) => ![undefined, null, 0].includes(budget[field]))
    .map(([field, name]) => `${name}: ${budget[field]}`).join(" · ");
}
