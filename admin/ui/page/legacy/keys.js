/** Shows keys and metadata of identity providers: source, age and errors. */
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
        ? [h("p", {}, "No policy uses keys.")]
        : [h("h2", {}, "Token keys"), ...keySets.map(describe)]),
      ...(providerMetadata.length === 0 ? [] : [
        h("h2", {}, "Authorization server metadata"),
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
        "Not fetched yet; fetched on first use.",
      ),
    leftOutKeys.length > 0 && [
      h("p", {}, "Unusable keys:"),
      h("ul", {}, leftOutKeys.map((each) => h("li", {}, each))),
    ],
    facts(
      Object.entries(names).filter(([field]) => state[field] !== undefined)
        .map(([field, name]) => [name, describeValue(field, state[field])]),
    ),
  );
}

const names = {
  issuers: "Issuers",
  keys: "Keys",
  kids: "Key IDs",
  fetchedAt: "Fetched",
  ageSeconds: "Age",
  refreshes: "Refreshes",
  failures: "Failed refreshes",
  retryAt: "Next attempt",
  refreshAt: "Stale at",
};

function describeValue(field, value) {
  if (value === null) return "–";
  if (field.endsWith("At")) return time(value);
  if (field === "ageSeconds") return duration(value);
  return Array.isArray(value) ? value.join(", ") : String(value);
}
