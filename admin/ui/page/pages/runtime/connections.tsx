/** Clients that are connected: who, for how long, and what they do. */
import type {
  ConnectionTask,
  TaskTree,
} from "../../../../../src/dataplane/calls/descriptions.ts";
import { duration, number } from "../../kit/format.ts";
import { useState } from "../../kit/framework.ts";
import { Find } from "../../kit/inputs.tsx";
import { Empty, Message, PageHead, Problem } from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { usePolled } from "../../server/poll.ts";

const MAX_SHOWN = 500;

interface Connection extends ConnectionTask {
  readonly port: number;
}

/** The page of connections. */
export function Connections() {
  const [find, setFind] = useState("");
  const { data, error } = usePolled(`tasks?limit=${2 * MAX_SHOWN}`, 2000);
  const all = data.value && connectionsOf(data.value);
  const shown = all?.filter((each) => textOf(each).includes(find.trim()));
  return (
    <>
      <PageHead
        title="Connections"
        about="Connected clients, those with requests under way first."
      />
      <div class="row">
        <Find
          placeholder="address, client, path"
          text={find}
          onFind={setFind}
        />
        <Message>
          {data.value && `${number(data.value.connections)} open.`}
        </Message>
      </div>
      <Problem>{error}</Problem>
      {shown && (
        <section
          class={shown.length === 0 ? "panel" : "panel flush"}
          aria-label="Connections"
        >
          {shown.length === 0
            ? (
              <Empty title="No connection">
                A client appears here as soon as it connects.
              </Empty>
            )
            : (
              <Table
                label="Connections of clients"
                rows={shown.slice(0, MAX_SHOWN)}
                keyOf={({ port, peer, worker }) => `${port} ${peer} ${worker}`}
                columns={columns}
              />
            )}
        </section>
      )}
    </>
  );
}

const columns: readonly Column<Connection>[] = [
  ["Address", ({ peer }) => peer],
  ["Client", ({ requests }) => clientsOf(requests) || "–"],
  ["For", ({ ageMs }) => duration(ageMs / 1000), "number"],
  ["Protocol", ({ protocol }) => protocol],
  ["Port", ({ port }) => port, "number"],
  ["Requests", ({ requests }) => number(requests.length), "number"],
  ["Under way", ({ requests }) => <UnderWay requests={requests} />, "wide"],
];

function UnderWay({ requests }: Pick<Connection, "requests">) {
  if (requests.length === 0) return <span class="quiet">idle</span>;
  return (
    <>
      {requests.slice(0, 3).map(({ id, method, host, path, phase, ageMs }) => (
        <div key={id}>
          {method} {host}
          {path} <span class="quiet">{phase}, {duration(ageMs / 1000)}</span>
        </div>
      ))}
      {requests.length > 3 && <div class="quiet">and more</div>}
    </>
  );
}

function clientsOf(requests: Connection["requests"]): string {
  return [...new Set(requests.flatMap(({ client }) => client ?? []))]
    .join(", ");
}

function connectionsOf({ listeners }: TaskTree): readonly Connection[] {
  return listeners.flatMap(({ port, connections }) =>
    connections.map((each) => ({ ...each, port }))
  ).toSorted((a, b) =>
    Number(b.requests.length > 0) - Number(a.requests.length > 0) ||
    b.ageMs - a.ageMs
  );
}

function textOf({ peer, requests }: Connection): string {
  return [
    peer,
    clientsOf(requests),
    ...requests.map(({ host, path }) => host + path),
  ].join("\n");
}
