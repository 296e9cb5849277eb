/** What runs here, since when, whether it is well, and how much it does. */
import { getJson, getText } from "./api.js";
import { bytes, code, duration, facts, h, number, svg, time } from "./dom.js";
import { createRate, parseMetrics, sumOf } from "./metrics_text.js";
import { pollVisibly } from "./poll.js";

/** Two minutes. */
const KEPT = 60;

/** All metrics together may be megabytes. */
const shownMetrics = new URLSearchParams(
  [
    "gateway_requests_total",
    "gateway_response_bytes_total",
    "gateway_uptime_seconds",
    "gateway_downstream_connections_active",
    "gateway_upstream_connections",
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
  ].map((name) => ["name", name]),
);

export function show(content, { signal }) {
  const problem = h("p", { class: "problem", role: "status" });
  const configuration = h("div");
  const numbers = h("div");
  const curve = createCurve();
  content.append(
    problem,
    section("Configuration", configuration),
    section("Requests per second, over two minutes", curve.element, numbers),
  );
  const rates = createRates();
  let shownConfiguration = "";
  pollVisibly(2000, signal, problem, async () => {
    const [status, text] = await Promise.all([
      getJson("status", signal),
      getText(`metrics?${shownMetrics}`, signal),
    ]);
    // Untouched while nothing changes, so that reading and selecting is not disturbed.
    const shown = JSON.stringify(status);
    if (shown !== shownConfiguration) {
      configuration.replaceChildren(...describeConfiguration(status));
      shownConfiguration = shown;
    }
    const { requests, entries } = rates(parseMetrics(text));
    numbers.replaceChildren(facts(entries));
    curve.add(requests);
  });
}

function section(title, ...children) {
  return h("section", {}, h("h2", {}, title), ...children);
}

function describeConfiguration(status) {
  const { version, readiness, hash, appliedAt, lastRejected } = status;
  const { version: own, ...parts } = version;
  const entries = [
    ["Version", own ?? "–"],
    ["Made of", describeParts(parts)],
    ["Readiness", h("span", { class: `badge ${readiness}` }, readiness)],
    ["Configuration", h("code", { title: hash }, hash.slice(0, 12))],
    ["Applied", appliedAt === "" ? "–" : time(appliedAt)],
  ];
  return [
    facts(entries),
    lastRejected ? describeRejected(lastRejected) : h(
      "p",
      {},
      "The latest configuration is in force: none was rejected since.",
    ),
  ];
}

function describeParts(parts) {
  const texts = Object.entries(parts).map(([name, text]) => `${name} ${text}`);
  return texts.join(", ") || "–";
}

function describeRejected({ hash, at, diagnostics }) {
  return h(
    "section",
    { class: "rejected" },
    h("h3", {}, "Last rejected configuration"),
    h("p", {}, h("code", { title: hash }, hash.slice(0, 12)), ", ", time(at)),
    code(diagnostics.join("\n"), "What is wrong with it"),
  );
}

/** Answers what to show of the metrics; rates are over the time between two calls. */
function createRates() {
  const ofRequests = createRate();
  const ofClientErrors = createRate();
  const ofServerErrors = createRate();
  const ofBytes = createRate();
  const requests = "gateway_requests_total";
  const withStatus = (digit) => ({ status }) => status?.startsWith(digit);
  return (samples) => {
    const sum = (name, fits) => sumOf(samples, name, fits);
    const uptime = sum("gateway_uptime_seconds");
    const rate = (of, value) => of(value, uptime);
    const perSecond = rate(ofRequests, sum(requests)) ?? Number.NaN;
    const client = rate(ofClientErrors, sum(requests, withStatus("4")));
    const server = rate(ofServerErrors, sum(requests, withStatus("5")));
    const sent = rate(ofBytes, sum("gateway_response_bytes_total"));
    return {
      requests: perSecond,
      entries: [
        ["Uptime", duration(uptime)],
        ["Requests", `${number(perSecond)} per second`],
        ["Answers 4xx", `${number(client ?? Number.NaN)} per second`],
        ["Answers 5xx", `${number(server ?? Number.NaN)} per second`],
        ["Bodies sent", `${bytes(sent ?? Number.NaN)} per second`],
        ["Requests so far", number(sum(requests))],
        [
          "Connections of clients",
          number(sum("gateway_downstream_connections_active")),
        ],
        ["Connections upstream", number(sum("gateway_upstream_connections"))],
        ["Memory", bytes(sum("process_resident_memory_bytes"))],
        ["Processor time", duration(sum("process_cpu_seconds_total"))],
      ],
    };
  };
}

/** Requests per second over the last minutes. The numbers beside it say the same, so it is hidden from readers. */
function createCurve() {
  const line = svg("polyline", { points: "" });
  const values = [];
  return {
    element: svg(
      "svg",
      {
        class: "curve",
        viewBox: `0 0 ${KEPT - 1} 30`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
      },
      line,
    ),
    add(value) {
      if (!Number.isFinite(value)) return;
      values.push(value);
      if (values.length > KEPT) values.shift();
      const top = Math.max(...values, 1);
      // All of the width from the start: a line that begins at the right looks broken.
      const step = (KEPT - 1) / Math.max(values.length - 1, 1);
      const points = values.map((value, index) =>
        `${index * step},${29 - (28 * value) / top}`
      );
      line.setAttribute("points", points.join(" "));
    },
  };
}
