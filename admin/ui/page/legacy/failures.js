/** Shows recent failed requests with causes and advice. */
import { getJson } from "./api.js";
import { facts, h, number, sentence, setText, table, time } from "./dom.js";
import { pollVisibly } from "./poll.js";
import { TraceTable } from "./trace_table.js";

const MAX_SHOWN = 200;
/** Longer names would leave no room for the cause; the report has the full name. */
const MAX_NAME_LENGTH = 90;

export function show(content, { signal, argument }) {
  const problem = h("p", { class: "problem", role: "status" });
  const list = h("div");
  const newer = h("p", { class: "quiet", role: "status" });
  const report = h("section", { "aria-label": "Report", tabindex: "-1" });
  content.append(problem, newer, list, report);
  let latest = [];
  let drawn;
  const draw = () => {
    if (JSON.stringify(latest) === JSON.stringify(drawn)) return;
    drawn = latest;
    setText(newer, "Newest first.");
    // Redrawing the list must keep the focus.
    const focused = list.contains(document.activeElement)
      ? document.activeElement.getAttribute("href")
      : undefined;
    list.replaceChildren(describeList(drawn));
    const link = [...list.querySelectorAll("a")].find((each) =>
      each.getAttribute("href") === focused
    );
    link?.focus();
  };
  list.addEventListener("pointerleave", draw);
  pollVisibly(2000, signal, problem, async () => {
    latest = await getJson(`failures?limit=${MAX_SHOWN}`, signal);
    // Rows never move under the pointer.
    if (!list.matches(":hover")) return draw();
    const known = latest.findIndex(({ id }) => id === drawn?.[0]?.id);
    const count = known < 0 ? latest.length : known;
    if (count === 0) return;
    setText(
      newer,
      `${count} newer: move the pointer off the list to see them.`,
    );
  });
  if (argument === "") return;
  // Leaves room for the report below.
  list.className = "short";
  showReport(report, argument, problem, signal);
}

function describeList(failures) {
  if (failures.length === 0) {
    return h("p", {}, "No recent failures.");
  }
  const columns = ["Request", "Status", "Cause", "Reason", "Route", "Time"];
  return table(
    "Failed requests, newest first",
    columns,
    failures.map((failure) => [
      h(
        "a",
        { href: `#failures/${encodeURIComponent(failure.id)}` },
        shorten(nameOf(failure)),
      ),
      String(failure.status),
      h("span", { class: "long" }, failure.cause),
      failure.reason,
      failure.route ?? "–",
      time(failure.time),
    ]),
  );
}

/** Names a request; one that was rejected before it was parsed has only an id. */
function nameOf({ id, method, host, path }) {
  return `${method} ${host}${path}`.trim() || id;
}

function shorten(name) {
  return name.length <= MAX_NAME_LENGTH
    ? name
    : `${name.slice(0, MAX_NAME_LENGTH)}…`;
}

async function showReport(element, id, problem, signal) {
  try {
    const failure = await getJson(`failures/${encodeURIComponent(id)}`, signal);
    const events = new TraceTable("Events of the failed request");
    events.show(failure.events);
    events.selectFailure();
    const { failing } = failure;
    element.replaceChildren(
      h("h2", {}, `Why ${nameOf(failure)} failed`),
      h("p", { class: "cause" }, failure.cause),
      h("p", {}, sentence(failure.advice)),
      facts([
        ["Id", h("code", {}, failure.id)],
        ["Status", String(failure.status)],
        ["Reason", failure.reason],
        ["Decided by", failing ? `${failing.kind} ${failing.name}` : "–"],
        ["Route", failure.route ?? "–"],
        ["Backend", failure.backend ?? "–"],
        [
          "Duration",
          failure.durationMs === null
            ? "–"
            : `${number(failure.durationMs)} ms`,
        ],
      ]),
      events.element,
    );
    element.focus();
  } catch (error) {
    if (!signal.aborted) setText(problem, error.message);
  }
}
