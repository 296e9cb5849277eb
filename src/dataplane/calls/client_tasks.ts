import { hideSignatures } from "../../base/redaction.ts";
import type { OpenConnection } from "../../http/server/contract/open_connection.ts";
import { Exchange } from "../../proxy/exchange/exchange.ts";
import { clientOf } from "../../policy/authentication/request_identity.ts";
import type { PortConnections } from "../../proxy/ports/listeners.ts";
import { pathOf } from "../../route/normalize_target.ts";
import { sum } from "./backend_tasks.ts";
import type {
  ConnectionTask,
  ListenerTask,
  RequestPhase,
  RequestTask,
  TaskTree,
} from "./descriptions.ts";

const SWITCHING_PROTOCOLS = 101;

/** Downstream connections and the requests on them. */
export type ClientTasks = Pick<
  TaskTree,
  "connections" | "requests" | "omitted" | "listeners"
>;

/**
 * Describes downstream connections and requests under way, from state that exists anyway.
 * @param limit Maximum of connections and requests together; connections with requests come first.
 * @param now Monotonic milliseconds.
 */
export function describeClients(
  ports: Iterable<PortConnections>,
  limit: number,
  now: number,
): ClientTasks {
  const open = [...ports].map((port) => ({ ...port, open: [...port.open] }));
  const all = open.flatMap((port) => port.open);
  const room = { left: limit };
  const busy = open.map((port) =>
    takeTasks(port.open.filter(isBusy), room, now)
  );
  const idle = open.map((port) =>
    takeTasks(port.open.filter((each) => !isBusy(each)), room, now)
  );
  const listeners = open.map(({ port, state }, at): ListenerTask => ({
    port,
    state,
    connections: [...busy[at] ?? [], ...idle[at] ?? []],
  }));
  const requests = all.reduce((sum, each) => sum + each.activeRequests, 0);
  const shown = limit - room.left;
  const connections = all.length;
  const omitted = connections + requests - shown;
  return { connections, requests, omitted, listeners };
}

function isBusy({ activeRequests }: OpenConnection): boolean {
  return activeRequests > 0;
}

function takeTasks(
  connections: readonly OpenConnection[],
  room: { left: number },
  now: number,
): readonly ConnectionTask[] {
  const tasks: ConnectionTask[] = [];
  for (const { peer, protocol, openedAt, requests } of connections) {
    if (room.left === 0) break;
    room.left--;
    const exchanges = requests.map(({ handledBy }) => handledBy)
      .filter((handler) => handler instanceof Exchange)
      .slice(0, room.left);
    room.left -= exchanges.length;
    tasks.push({
      peer: `${peer.address}:${peer.port}`,
      protocol,
      ageMs: Math.round(now - openedAt),
      requests: exchanges.map((exchange) => describeRequest(exchange, now)),
    });
  }
  return tasks;
}

function describeRequest(exchange: Exchange, now: number): RequestTask {
  const { attempts, originalRequest, requestId, routed } = exchange;
  const { method, authority, target } = originalRequest;
  const { backend, listener, route } = routed;
  return {
    id: requestId,
    phase: phaseOf(exchange),
    ageMs: Math.round(now - exchange.startedAt),
    method,
    host: authority,
    path: hideSignatures(pathOf(target)),
    gateway: listener?.gateway ?? null,
    route: route?.name ?? null,
    backend: backend?.name ?? null,
    endpoint: attempts?.target?.label ?? null,
    client: clientOf(exchange.slots) || null,
    retries: attempts?.retries ?? 0,
  };
}

function phaseOf(exchange: Exchange): RequestPhase {
  const { response, routed: { backend, route } } = exchange;
  if (response !== undefined) {
    return response.status === SWITCHING_PROTOCOLS ? "tunnel" : "response";
  }
  if (backend !== undefined) return "upstream";
  return route === undefined ? "gateway policies" : "route policies";
}

/** Merges the connections of workers. @param limit As of `describeClients`. */
export function mergeClients(
  workers: readonly ClientTasks[],
  limit: number,
): ClientTasks {
  const connections = sum(workers.map((tasks) => tasks.connections));
  const requests = sum(workers.map((tasks) => tasks.requests));
  const listeners = limitTasks(mergeListeners(workers), limit);
  const shown = sum(
    listeners.flatMap((listener) =>
      listener.connections.map(({ requests }) => 1 + requests.length)
    ),
  );
  const omitted = connections + requests - shown;
  return { connections, requests, omitted, listeners };
}

function mergeListeners(
  workers: readonly ClientTasks[],
): readonly ListenerTask[] {
  const groups = Map.groupBy(
    workers.flatMap(({ listeners }) => listeners),
    ({ port, state }) => `${port} ${state}`,
  );
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const all = [first, ...others].flatMap(({ connections }) => connections);
    return { ...first, connections: all.toSorted(busyFirst) };
  });
}

function busyFirst(a: ConnectionTask, b: ConnectionTask): number {
  return Number(b.requests.length > 0) - Number(a.requests.length > 0);
}

function limitTasks(
  listeners: readonly ListenerTask[],
  limit: number,
): readonly ListenerTask[] {
  let left = limit;
  const shown = new Set<ConnectionTask>();
  const all = listeners.flatMap(({ connections }) => connections);
  for (const connection of all.toSorted(busyFirst)) {
    const size = 1 + connection.requests.length;
    if (size > left) break;
    left -= size;
    shown.add(connection);
  }
  return listeners.map((listener) => ({
    ...listener,
    connections: listener.connections.filter((each) => shown.has(each)),
  }));
}
