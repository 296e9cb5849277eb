/** Connections and requests under way, and the endpoints of backends. */
import type { UpstreamTask } from "../../../../../src/dataplane/calls/backend_tasks.ts";
import type {
  RequestTask,
  TaskTree,
} from "../../../../../src/dataplane/calls/descriptions.ts";
import { linkTo } from "../../navigation/place.ts";
import { Stats, Table } from "../../kit/data.tsx";
import { latency, number, percent } from "../../kit/format.ts";
import {
  Badge,
  Empty,
  PageHead,
  Problem,
  Section,
  type Tone,
} from "../../kit/layout.tsx";
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
          ({ health }) => <Badge tone={toneOfHealth(health)}>{health}</Badge>,
        ],
        ["Backends", ({ backends }) =>
          backends.map((key) => (
            <div key={key}>
              <a href={linkTo("topology", `backend ${key}`)}>{key}</a>
            </div>
          ))],
        ["Latency", ({ latencyMs }) => latency(latencyMs), "number"],
        ["Attempts", ({ requests }) => number(requests), "number"],
        ["Errors", ({ requests, failures }) =>
          requests === 0 ? "–" : percent(failures / requests), "number"],
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

/** Returns the tone of an endpoint's health. */
export function toneOfHealth(health: string): Tone {
  if (health === "healthy") return "good";
  return health === "returning" ? "warn" : "bad";
}
