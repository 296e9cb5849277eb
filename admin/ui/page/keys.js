/** The keys of identity providers: where they come from, how old they are, what went wrong. */
import { getJson } from "./api.js";
import { duration, facts, h, time } from "./dom.js";
import { pollVisibly } from "./poll.js";

export function show(content, { signal }) {
  const problem = h("p", { class: "problem", role: "status" });
  const list = h("div");
  content.append(problem, list);
  let shown = "";
  pollVisibly(3000, signal, problem, async () => {
    const keySets = await getJson("key-sets", signal);
    const text = JSON.stringify(keySets);
    if (text === shown) return;
    shown = text;
    list.replaceChildren(
      ...(keySets.length === 0
        ? [h("p", {}, "No policy verifies tokens with keys.")]
        : keySets.map(describe)),
    );
  });
}

function describe({ source, lastError, ...state }) {
  return h(
    "section",
    { class: "card" },
    h("h2", {}, source),
    lastError && h("p", { class: "problem" }, `Last error: ${lastError}`),
    facts(
      Object.entries(names).map((
        [field, name],
      ) => [name, describeValue(field, state[field])]),
    ),
  );
}

const names = {
  keys: "Keys",
  fetchedAt: "Fetched",
  ageSeconds: "Age",
  refreshes: "Refreshes",
  failures: "Failed refreshes",
  retryAt: "Next try",
};

function describeValue(field, value) {
  if (value === null || value === undefined) return "–";
  if (field.endsWith("At")) return time(value);
  if (field === "ageSeconds") return duration(value);
  return String(value);
}
