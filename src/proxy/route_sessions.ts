import type { Clock } from "../base/clock.ts";
import type { HeaderList } from "../http/header_list.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { Backend, Route, WeightedBackend } from "../snapshot/snapshot.ts";
import type { Destination } from "./balancing/attempt_target.ts";
import { hashOf } from "./balancing/hash.ts";
import {
  beginSession,
  readSession,
  type SessionMark,
} from "./balancing/persistent_session.ts";
import type { Exchange } from "./exchange/exchange.ts";
import type { Upstreams } from "./upstreams.ts";

/** A response of a backend to a request of a route with persistent sessions. */
interface PersistedCall {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly backend: Backend;
  readonly destination: Destination;
  /** Hash of the endpoint to which the session of the client belongs. */
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

/** Returns the backend of a session; `undefined` when its endpoint is gone or cannot be used. */
export async function findOwner(
  { backend: wanted, endpoint }: SessionMark,
  backends: readonly WeightedBackend[],
  upstreams: Upstreams,
): Promise<WeightedBackend | undefined> {
  const owner = backends.find(({ backend }) =>
    backend !== undefined && hashOf(backend.key) === wanted
  );
  if (owner?.backend === undefined) return undefined;
  const isUsable = await upstreams.get(owner.backend).hasUsable?.(endpoint);
  return isUsable ? owner : undefined;
}

/** Begins a persistent session at the endpoint that has responded, unless the client has one there. */
export function persistSession(
  { exchange, route, backend, destination, endpointOfClient }: PersistedCall,
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
