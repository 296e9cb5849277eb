/** Version, configuration, readiness and throughput. */
import type { PageProps } from "../../navigation/page.ts";
import { linkTo } from "../../navigation/place.ts";
import { Chart } from "../../kit/chart.tsx";
import { Code, Fact, Facts, Stats, Time } from "../../kit/data.tsx";
import { bytes, compact, duration, number } from "../../kit/format.ts";
import { useMemo } from "../../kit/framework.ts";
import { Badge, PageHead, Problem, Section } from "../../kit/layout.tsx";
import { usePolled } from "../../server/poll.ts";
import type { UiStatus } from "../../../responses.ts";
import type { TrafficReport } from "../../../../../src/telemetry/traffic/traffic_report.ts";
import { Attention } from "./attention.tsx";
import { GetStarted } from "./get_started.tsx";
import { Recorder, type Throughput } from "./throughput.ts";

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

/** The first page. */
export function Overview({ status }: PageProps) {
  const recorder = useMemo(() => new Recorder(), []);
  const { data, error } = usePolled(
    `metrics?${shownMetrics}`,
    2000,
    (text) => recorder.add(text),
  );
  const traffic = usePolled("traffic?range=15m&by=backend", 5000);
  return (
    <>
      <PageHead
        title="Overview"
        about="Traffic of this gateway, and what needs attention."
      />
      <Problem>{error.value || traffic.error.value}</Problem>
      {status.routes === 0 && status.hasSource && status.server === "admin" && (
        <GetStarted />
      )}
      {data.value && <Numbers now={data.value} />}
      <Section
        title="Requests per second"
        about="Of the last 15 minutes."
        actions={<a href={linkTo("traffic")}>Show traffic</a>}
      >
        {traffic.data.value && <Curve report={traffic.data.value} />}
      </Section>
      <Attention traffic={traffic.data.value} />
      <Configuration status={status} />
    </>
  );
}

function Numbers({ now }: { readonly now: Throughput }) {
  return (
    <Stats
      figures={[
        ["Requests", compact(now.requests), "per second"],
        [
          "4xx responses",
          compact(now.clientErrors),
          "per second",
          now.clientErrors ? "warn" : undefined,
        ],
        [
          "5xx responses",
          compact(now.serverErrors),
          "per second",
          now.serverErrors ? "bad" : undefined,
        ],
        ["Sent", bytes(now.bytesSent), "per second"],
        [
          "Total requests",
          number(now.totalRequests),
          `in ${duration(now.uptime)}`,
        ],
        [
          "Connections",
          number(now.clientConnections),
          `${number(now.upstreamConnections)} upstream`,
        ],
        [
          "Memory",
          bytes(now.memory),
          `${duration(now.cpuSeconds)} of CPU time`,
        ],
      ]}
    />
  );
}

function Curve({ report }: { readonly report: TrafficReport }) {
  const { times, stepSeconds, series } = report;
  return (
    <Chart
      label="Requests per second over the last 15 minutes: all, 4xx, 5xx"
      times={times}
      span={[times[0] ?? 0, (times.at(-1) ?? 0) + stepSeconds]}
      format={compact}
      series={[
        {
          label: "Requests",
          color: "accent",
          values: series.requests,
          isFilled: true,
        },
        { label: "4xx", color: "warn", values: series.clientErrors },
        { label: "5xx", color: "bad", values: series.serverErrors },
      ]}
    />
  );
}

function Configuration({ status }: { readonly status: UiStatus }) {
  const { version: { version, ...runtime }, readiness, hash, appliedAt } =
    status;
  const parts = Object.entries(runtime).map((part) => part.join(" "));
  return (
    <Section
      title="Configuration"
      about={status.lastRejected
        ? "A newer one was rejected."
        : "The latest configuration is active."}
      actions={<a href={linkTo("topology")}>Show topology</a>}
    >
      <Facts>
        <Fact name="Readiness">
          <Badge tone={readiness === "ready" ? "good" : "warn"}>
            {readiness}
          </Badge>
        </Fact>
        <Fact name="Configuration">
          <code title={hash}>{hash.slice(0, 12)}</code>
        </Fact>
        <Fact name="Applied">
          {appliedAt === "" ? undefined : <Time at={appliedAt} />}
        </Fact>
        <Fact name="Version">{version}</Fact>
        <Fact name="Runtime">{parts.join(", ") || undefined}</Fact>
      </Facts>
      {status.lastRejected && <Rejected rejected={status.lastRejected} />}
    </Section>
  );
}

function Rejected({ rejected }: {
  readonly rejected: NonNullable<UiStatus["lastRejected"]>;
}) {
  const { hash, at, diagnostics } = rejected;
  return (
    <div class="rejected">
      <h3>Last rejected configuration</h3>
      <p class="quiet">
        <code title={hash}>{hash.slice(0, 12)}</code>, <Time at={at} />
      </p>
      <Code value={diagnostics.join("\n")} label="Diagnostics" />
    </div>
  );
}
