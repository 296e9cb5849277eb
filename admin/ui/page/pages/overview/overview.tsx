/** Version, configuration, readiness and throughput. */
import type { PageProps } from "../../navigation/page.ts";
import { linkTo } from "../../navigation/place.ts";
import { Chart } from "../../kit/chart.tsx";
import { Code, Fact, Facts, Stats, Time } from "../../kit/data.tsx";
import { bytes, compact, duration, number } from "../../kit/format.ts";
import { useMemo } from "../../kit/framework.ts";
import { Badge, Empty, PageHead, Problem, Section } from "../../kit/layout.tsx";
import { usePolled } from "../../server/poll.ts";
import type { UiStatus } from "../../../responses.ts";
import { Recorder, SPAN_SECONDS, type Throughput } from "./throughput.ts";

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
  const recorder = useMemo(() => new Recorder(Date.now), []);
  const { data, error } = usePolled(
    `metrics?${shownMetrics}`,
    2000,
    (text) => recorder.add(text),
  );
  return (
    <>
      <PageHead title="Overview" about="This gateway, right now." />
      <Problem>{error}</Problem>
      {data.value && <Numbers now={data.value} />}
      <Section
        title="Requests per second"
        about="Over the last two minutes, since this page was opened."
      >
        {data.value && data.value.times.length > 1
          ? <Curve now={data.value} />
          : (
            <Empty title="Measuring…">
              The first rate is known after two seconds.
            </Empty>
          )}
      </Section>
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

function Curve({ now }: { readonly now: Throughput }) {
  const latest = now.times.at(-1) ?? 0;
  return (
    <Chart
      label={`Requests per second over two minutes; now ${
        number(now.requests)
      }`}
      times={now.times}
      span={[latest - SPAN_SECONDS, latest]}
      format={compact}
      series={[
        {
          label: "Requests",
          color: "accent",
          values: now.curve.requests,
          isFilled: true,
        },
        { label: "4xx", color: "warn", values: now.curve.clientErrors },
        { label: "5xx", color: "bad", values: now.curve.serverErrors },
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
