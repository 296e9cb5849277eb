import { JsonRpcError } from "../../base/errors.ts";
import type { HeaderList } from "../../http/header_list.ts";
import { hashOf } from "./hash.ts";

const HEADER = "mcp-session-id";

/** The ID of a server, and the hash of its endpoint. */
const marked = /^([\x21-\x7e]+)~gw([0-9a-f]{8})$/;

/** Code of the MCP SDKs for an unknown session. */
const SESSION_NOT_FOUND = -32001;

/** Returns the hash of the endpoint that began the MCP session of a request; `undefined` without one. */
export function endpointOfSession(headers: HeaderList): number | undefined {
  const value = headers.get(HEADER);
  const hash = value === undefined ? undefined : marked.exec(value)?.[2];
  return hash === undefined ? undefined : parseInt(hash, 16);
}

/** Makes the ID of a session the one that its server knows. */
export function unmarkSession(headers: HeaderList): void {
  const id = marked.exec(headers.get(HEADER) ?? "")?.[1];
  if (id !== undefined) headers.set(HEADER, id);
}

/**
 * Adds its endpoint to the ID of a session that a response begins, so that every gateway finds it again, also after a restart.
 * @param endpoint Label of the endpoint, whose hash is `BalancedEndpoint.hash`.
 */
export function markSession(headers: HeaderList, endpoint: string): void {
  const id = headers.get(HEADER);
  if (id === undefined) return;
  const mark = hashOf(endpoint).toString(16).padStart(8, "0");
  headers.set(HEADER, `${id}~gw${mark}`);
}

/** Creates the error after which an MCP client begins a new session: 404, as the server responds itself to unknown ones. */
export function sessionLost(reason: string): JsonRpcError {
  return new JsonRpcError(
    "mcp_session_lost",
    `The MCP session is lost: ${reason}`,
    { id: undefined, code: SESSION_NOT_FOUND, message: "Session not found" },
  );
}
