/** What identity providers publish: where it comes from, how old it is, what went wrong. */
import { getJson } from "./api.js";
import { duration, facts, h, time } from "./dom.js";
import { pollVisibly } from "./poll.js";

export function show(content, { signal }) {
  const problem = h("p", { class: "problem", role: "status" });
  const list = h("div");
  content.append(problem, list);
  let shown = "";
  pollVisibly(3000, signal, problem, async () => {
    const { keySets, providerMetadata } = await getJson("keys", signal);
    const text = JSON.stringify([keySets, providerMetadata]);
    if (text === shown) return;
    shown = text;
    list.replaceChildren(
      ...(keySets.length === 0
        ? [h("p", {}, "No policy verifies tokens with keys.")]
        : [h("h2", {}, "Keys that verify tokens"), ...keySets.map(describe)]),
      ...(providerMetadata.length === 0 ? [] : [
        h("h2", {}, "Metadata of authorization servers"),
        ...providerMetadata.map(describe),
      ]),
    );
  });
}

function describe({ source, lastError, leftOutKeys = [], ...state }) {
  return h(
    "section",
    { class: "card" },
    h("h3", {}, source),
    lastError && h("p", { class: "problem" }, `Last error: ${lastError}`),
    state.refreshes === 0 && state.fetchedAt === null &&
      h(
        "p",
        {},
        "It was not asked for yet: the first request that needs it does.",
      ),
    leftOutKeys.length > 0 && [
      h("p", {}, "Keys that cannot be used:"),
      h("ul", {}, leftOutKeys.map((each) => h("li", {}, each))),
    ],
    facts(
      Object.entries(names).filter(([field]) => state[field] !== undefined)
        .map(([field, name]) => [name, describeValue(field, state[field])]),
    ),
  );
}

const names = {
  keys: "Keys",
  fetchedAt: "Fetched",
  ageSeconds: "Age",
  refreshes: "Refreshes",
  failures: "Failed refreshes",
  retryAt: "Not again before",
};

function describeValue(field, value) {
  if (value === null) return "–";
  if (field.endsWith("At")) return time(value);
  if (field === "ageSeconds") return duration(value);
  return String(value);
}
