/** Shows version, configuration, readiness and throughput. */
import { getJson, getText } from "./api.js";
import { bytes, code, duration, facts, h, number, svg, time } from "./dom.js";
import { createRate, parseMetrics, sumOf } from "./metrics_text.js";
import { pollVisibly } from "./poll.js";

/** Seconds that the curve shows. */
const SPAN = 120;

/** The metrics to request; all of them may be megabytes. */
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
    // Redrawn only when it changes, so that reading and selecting is not disturbed.
    const shown = JSON.stringify(status);
    if (shown !== shownConfiguration) {
      configuration.replaceChildren(...describeConfiguration(status));
      shownConfiguration = shown;
    }
    const { uptime, requests, entries } = rates(parseMetrics(text));
    numbers.replaceChildren(facts(entries));
    curve.add(uptime, requests);
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
    ["Runtime", describeParts(parts)],
    ["Readiness", h("span", { class: `badge ${readiness}` }, readiness)],
    ["Configuration", h("code", { title: hash }, hash.slice(0, 12))],
    ["Applied", appliedAt === "" ? "–" : time(appliedAt)],
  ];
  return [
    facts(entries),
    lastRejected ? describeRejected(lastRejected) : h(
      "p",
      {},
      "The latest configuration is active.",
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
    code(diagnostics.join("\n"), "Diagnostics"),
  );
}

/** Creates a function that summarizes metrics; rates refer to the time between two calls. */
function createRates() {
  const ofRequests = createRate();
  const ofClientErrors = createRate();
  const ofServerErrors = createRate();
  const ofBytes = createRate();
  const requests = "gateway_requests_total";
  const withStatus = (digit) => ({ status }) => status?.startsWith(digit);
  return (samples) => {
    const sum = (name, matches) => sumOf(samples, name, matches);
    const uptime = sum("gateway_uptime_seconds");
    const rate = (of, value) => of(value, uptime);
    const perSecond = rate(ofRequests, sum(requests)) ?? Number.NaN;
    const client = rate(ofClientErrors, sum(requests, withStatus("4")));
    const server = rate(ofServerErrors, sum(requests, withStatus("5")));
    const sent = rate(ofBytes, sum("gateway_response_bytes_total"));
    return {
      uptime,
      requests: perSecond,
      entries: [
        ["Uptime", duration(uptime)],
        ["Requests", `${number(perSecond)} per second`],
        ["4xx responses", `${number(client ?? Number.NaN)} per second`],
        ["5xx responses", `${number(server ?? Number.NaN)} per second`],
        ["Bytes sent", `${bytes(sent ?? Number.NaN)} per second`],
        ["Total requests", number(sum(requests))],
        [
          "Client connections",
          number(sum("gateway_downstream_connections_active")),
        ],
        ["Upstream connections", number(sum("gateway_upstream_connections"))],
        ["Memory", bytes(sum("process_resident_memory_bytes"))],
        ["CPU time", duration(sum("process_cpu_seconds_total"))],
      ],
    };
  };
}

/** Creates a curve of requests per second. The numbers beside it are equivalent, so it is hidden from screen readers. */
function createCurve() {
  const line = svg("polyline", { points: "" });
  let values = [];
  return {
    element: svg(
      "svg",
      {
        class: "curve",
        viewBox: `0 0 ${SPAN} 30`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
      },
      line,
    ),
    /** Adds a value at a time in seconds, which is smaller than that before after a restart of the gateway. */
    add(now, value) {
      if (!Number.isFinite(value)) return;
      values = values.filter(({ at }) => at < now && now - at < SPAN);
      values.push({ at: now, value });
      const top = Math.max(...values.map((each) => each.value), 1);
      const points = values.map(({ at, value }) =>
        `${SPAN - (now - at)},${29 - (28 * value) / top}`
      );
      line.setAttribute("points", points.join(" "));
    },
  };
}
