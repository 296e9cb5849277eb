import { JsonRpcError } from "../../base/errors.ts";
import type { HeaderList } from "../../http/header_list.ts";
import { hashOf } from "./hash.ts";

const HEADER = "mcp-session-id";

/** The hash of an endpoint, at the end of the ID of a server. */
const mark = /^~gw([0-9a-f]{8})$/;
const MARK_LENGTH = 11;

/** Code of the MCP SDKs for an unknown session. */
const SESSION_NOT_FOUND = -32001;

/** Returns the hash of the endpoint that began the MCP session of a request; `undefined` without one. */
export function endpointOfSession(headers: HeaderList): number | undefined {
  const hash = hashIn(headers.get(HEADER));
  return hash === undefined ? undefined : parseInt(hash, 16);
}

/** Looks at the end of an ID only, which can be long. */
function hashIn(id = ""): string | undefined {
  return id.length > MARK_LENGTH
    ? mark.exec(id.slice(-MARK_LENGTH))?.[1]
    : undefined;
}

/** Makes the ID of a session the one that its server knows. */
export function unmarkSession(headers: HeaderList): void {
  const id = headers.get(HEADER);
  if (id === undefined || hashIn(id) === undefined) return;
  headers.set(HEADER, id.slice(0, -MARK_LENGTH));
}

/**
 * Adds its endpoint to the ID of a session that a response begins, so that every gateway finds it again, also after a restart.
 * @param endpoint Label of the endpoint, whose hash is `BalancedEndpoint.hash`.
 */
export function markSession(headers: HeaderList, endpoint: string): void {
  const id = headers.get(HEADER);
  if (id === undefined) return;
  const hash = hashOf(endpoint).toString(16).padStart(8, "0");
  headers.set(HEADER, `${id}~gw${hash}`);
}

/** Creates the error after which an MCP client begins a new session: 404, as the server responds itself to unknown ones. */
export function sessionLost(reason: string): JsonRpcError {
  return new JsonRpcError(
    "mcp_session_lost",
    `The MCP session is lost: ${reason}`,
    { id: undefined, code: SESSION_NOT_FOUND, message: "Session not found" },
  );
}
