import type { WellKnown } from "../../contract/policy_kind.ts";
import type { Rejection } from "../../contract/rejection.ts";
import { publicPreflight, rejectPublicly } from "./mcp_responses.ts";
import { PROTECTED_RESOURCE_PREFIX } from "./client_origin.ts";

/** An OAuth endpoint of an MCP server. */
export interface McpEndpoint {
  readonly kind: "resource" | "server" | "registration" | "unknown";
  /** Path of the MCP server, such as `/mcp`; empty in the root form. */
  readonly path: string;
}

const SERVER_PREFIX = "/.well-known/oauth-authorization-server";
const OPEN_ID_PREFIX = "/.well-known/openid-configuration";
const prefixes = [PROTECTED_RESOURCE_PREFIX, SERVER_PREFIX, OPEN_ID_PREFIX];

/** Places where MCP clients look for the metadata of a server and of its authorization server. */
export const wellKnownMetadata: WellKnown = {
  prefixes,
  root: PROTECTED_RESOURCE_PREFIX,
  notFound: ({ request }) =>
    request.method === "OPTIONS"
      ? publicPreflight("GET, HEAD, OPTIONS")
      : notFound(),
};

/** Rejects a request for metadata that does not exist. */
export function notFound(): Rejection<"mcp_oauth"> {
  return rejectPublicly("not_found", "nothing is served here");
}

const registration = /\/(?:client-registration|register)$/;

/** Returns the endpoint with this path; `unknown` for one that clients probe in vain, `undefined` for paths outside OAuth. */
export function findEndpoint(path: string): McpEndpoint | undefined {
  if (!path.includes("/.well-known/")) return undefined;
  const resource = restOf(path, PROTECTED_RESOURCE_PREFIX);
  if (resource !== undefined) return { kind: "resource", path: resource };
  const server = restOf(path, SERVER_PREFIX);
  if (server !== undefined) {
    return registration.test(server)
      ? { kind: "registration", path: server.replace(registration, "") }
      : { kind: "server", path: server };
  }
  const openId = restOf(path, OPEN_ID_PREFIX);
  if (openId !== undefined) return { kind: "server", path: openId };
  return prefixes.some((prefix) => path.endsWith(prefix))
    ? { kind: "unknown", path: "" }
    : undefined;
}

/** Returns the path after the prefix, without a slash at its end; `undefined` when the path is not below it. */
function restOf(path: string, prefix: string): string | undefined {
  if (path !== prefix && !path.startsWith(`${prefix}/`)) return undefined;
  return path.slice(prefix.length).replace(/\/$/, "");
}
