import type { Clock } from "../base/clock.ts";
import type { HeaderList } from "../http/header_list.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { Backend } from "../snapshot/backend.ts";
import type { Route, WeightedBackend } from "../snapshot/snapshot.ts";
import type { Destination } from "./balancing/attempt_target.ts";
import { hashOf } from "./balancing/hash.ts";
import { endpointOfSession } from "./balancing/session_mark.ts";
import {
  beginSession,
  readSession,
  type SessionMark,
} from "./balancing/persistent_session.ts";
import type { Exchange } from "./exchange/exchange.ts";
import type { Upstreams } from "./upstreams.ts";

/** A request to a backend, of a route that may have sessions. */
export interface SessionCall {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly backend: Backend;
  readonly destination: Destination;
  /** Hash of the endpoint that began the MCP session of the request. */
  readonly sessionEndpoint: number | undefined;
  /** Hash of the endpoint to which the persistent session of the client belongs. */
  readonly endpointOfClient: number | undefined;
}

/** Returns the persistent session of a request; `undefined` without one. */
export function persistentSession(
  { request: { headers } }: Exchange,
  { sessions }: Route,
  clock: Clock,
): SessionMark | undefined {
  return sessions && readSession(sessions, headers, clock.now());
}

/** The session of a request. */
export interface FoundSession {
  /** Backend of the session; `undefined` when it is gone. */
  readonly owner: WeightedBackend | undefined;
  /** The session cannot go on at another backend. */
  readonly isFixed: boolean;
}

/** Returns the session of a request to a route with several backends, that of MCP or a persistent one; `undefined` without one. */
export function findSession(
  exchange: Exchange,
  route: Route,
  { clock, upstreams }: {
    readonly clock: Clock;
    readonly upstreams: Upstreams;
  },
): Promise<FoundSession> | undefined {
  const found = endpointOfSession(exchange.request.headers);
  if (found !== undefined) {
    return findBackend(
      route,
      (backend) => upstreams.get(backend).hasEndpoint?.(found),
    ).then((owner) => ({ owner, isFixed: true }));
  }
  // With priorities, a session stays at its endpoint only within the backend that failover chooses.
  if (route.groups !== undefined && route.groups.length > 1) return undefined;
  const session = persistentSession(exchange, route, clock);
  return session &&
    findBackend(
      route,
      (backend) =>
        hashOf(backend.key) === session.backend
          ? upstreams.get(backend).hasUsable?.(session.endpoint)
          : undefined,
    ).then((owner) => ({ owner, isFixed: false }));
}

async function findBackend(
  { backends }: Route,
  isOwner: (backend: Backend) => Promise<boolean> | undefined,
): Promise<WeightedBackend | undefined> {
  for (const each of backends) {
    if (each.backend && await isOwner(each.backend)) return each;
  }
  return undefined;
}

/** Reports whether MCP sessions of a response have to come back to its endpoint. */
export function keepsSessions(
  { sessionEndpoint, route, backend, destination }: SessionCall,
): boolean {
  if (sessionEndpoint !== undefined) return true;
  if (backend.balancing?.sharesSessions === true) return false;
  const { size = 0 } = destination;
  return size > 1 || size === 1 && route.backends.length > 1;
}

/** Begins a persistent session at the endpoint that has responded, unless the client has one there. */
export function persistSession(
  { exchange, route, backend, destination, endpointOfClient }: SessionCall,
  { headers }: ResponseMessage,
  clock: Clock,
): void {
  const { sessions } = route;
  const target = exchange.attempts?.target;
  if (
    sessions === undefined || target === undefined ||
    destination.preferring === undefined
  ) return;
  const endpoint = hashOf(target.label);
  if (endpoint === endpointOfClient) return;
  beginSession(sessions, { backend: hashOf(backend.key), endpoint }, {
    headers,
    now: clock.now(),
    isSecure: isSecure(exchange.request.headers),
  });
}

/** Reports whether a request, with the fields that the gateway adds, came from the client over TLS. */
function isSecure(headers: HeaderList): boolean {
  const [scheme] = headers.get("x-forwarded-proto")?.split(",") ?? [];
  return scheme?.trim().toLowerCase() === "https";
}
