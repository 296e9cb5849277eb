/** Connections and requests under way, and the endpoints of backends. */
import type { UpstreamTask } from "../../../../../src/dataplane/calls/backend_tasks.ts";
import type {
  RequestTask,
  TaskTree,
} from "../../../../../src/dataplane/calls/descriptions.ts";
import { linkTo } from "../../navigation/place.ts";
import { Stats } from "../../kit/data.tsx";
import { latency, number, percent } from "../../kit/format.ts";
import {
  Badge,
  Empty,
  PageHead,
  Problem,
  Section,
  type Tone,
} from "../../kit/layout.tsx";
import { Table } from "../../kit/table.tsx";
import { usePolled } from "../../server/poll.ts";

const MAX_SHOWN = 200;

/** The page of tasks. */
export function Tasks() {
  const { data, error } = usePolled(`tasks?limit=${MAX_SHOWN}`, 1000);
  return (
    <>
      <PageHead
        title="Tasks"
        about="Requests under way, the oldest first, and the endpoints that serve them."
      />
      <Problem>{error}</Problem>
      {data.value && <Report tasks={data.value} />}
    </>
  );
}

function Report({ tasks }: { readonly tasks: TaskTree }) {
  const requests = tasks.listeners.flatMap(({ connections }) =>
    connections.flatMap((connection) => connection.requests)
  ).toSorted((a, b) => b.ageMs - a.ageMs);
  return (
    <>
      <Stats
        figures={[
          ["Connections", number(tasks.connections), "of clients, open"],
          ["Requests", number(tasks.requests), "under way"],
          [
            "Ports",
            number(tasks.listeners.length),
            tasks.listeners.map(({ port, state }) => `${port} ${state}`)
              .join(", "),
          ],
          [
            "Waiting",
            number(
              tasks.upstreams.reduce((sum, { waiting }) => sum + waiting, 0),
            ),
            "for a connection to a backend",
          ],
        ]}
      />
      <Section title="Requests" isFlush>
        {requests.length === 0
          ? (
            <Empty title="No request is under way">
              Requests appear here from their first byte to the last of the
              response.
            </Empty>
          )
          : <Requests requests={requests} />}
      </Section>
      <Section title="Endpoints of backends" isFlush>
        {tasks.upstreams.length === 0
          ? (
            <Empty title="No endpoint is in use">
              An endpoint appears with its first request.
            </Empty>
          )
          : <Endpoints endpoints={tasks.upstreams} />}
      </Section>
    </>
  );
}

function Requests({ requests }: { readonly requests: readonly RequestTask[] }) {
  return (
    <Table
      label="Requests under way"
      rows={requests}
      keyOf={({ id }) => id}
      columns={[
        ["Request", ({ method, host, path }) =>
          `${method} ${host}${path}`, "wide"],
        ["Age", ({ ageMs }) =>
          latency(ageMs), "number"],
        ["Phase", ({ phase }) => <Badge tone="info">{phase}</Badge>],
        ["Route", ({ route }) =>
          route ?? "–"],
        ["Endpoint", ({ endpoint }) => endpoint ?? "–"],
        ["Retries", ({ retries }) => number(retries), "number"],
      ]}
    />
  );
}

function Endpoints(
  { endpoints }: { readonly endpoints: readonly UpstreamTask[] },
) {
  return (
    <Table
      label="Endpoints of backends"
      rows={endpoints}
      keyOf={({ endpoint, backends }) => `${endpoint} ${backends.join()}`}
      columns={[
        ["Endpoint", ({ endpoint }) => endpoint],
        [
          "Health",
          (endpoint) => <HealthBadge health={healthOf(endpoint)} />,
        ],
        ["Backends", ({ backends }) =>
          backends.map((key) => (
            <div key={key}>
              <a href={linkTo("topology", `backend ${key}`)}>{key}</a>
            </div>
          ))],
        ["Latency", ({ latencyMs }) => latency(latencyMs), "number"],
        ["Attempts", ({ requests }) => number(requests), "number"],
        ["Errors", ({ failureShare }) =>
          failureShare === null ? "–" : percent(failureShare), "number"],
        ["Ejections", ({ ejections }) =>
          number(ejections), "number"],
        ["Active", ({ active }) =>
          number(active), "number"],
        ["Idle", ({ idle }) =>
          number(idle), "number"],
      ]}
    />
  );
}

/** Health of an endpoint in a word, and how bad that is: 0 for healthy. */
export interface ShownHealth {
  readonly word: string;
  readonly tone: Tone;
  readonly badness: number;
}

/** Returns the health of an endpoint: one that is failing says how often. */
export function healthOf(
  { health, failureShare }: UpstreamTask,
): ShownHealth {
  switch (health) {
    case "healthy":
      return { word: health, tone: "good", badness: 0 };
    case "returning":
      return { word: health, tone: "warn", badness: 2 };
    case "failing": {
      const share = failureShare ?? 1;
      const word = `${health}, ${percent(share)} errors`;
      return { word, tone: "bad", badness: share };
    }
    default:
      return { word: health, tone: "bad", badness: 3 };
  }
}

/** Shows the health of an endpoint. */
export function HealthBadge(
  { health: { word, tone } }: { readonly health: ShownHealth },
) {
  return <Badge tone={tone}>{word}</Badge>;
}
