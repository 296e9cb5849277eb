import { isJsonObject } from "../../base/json.ts";
import { RPC } from "../protocol/rpc_messages.ts";
import { modernRevisions } from "../protocol/revisions.ts";
import { withEnvelope } from "./modern_connection.ts";
import type { ServerAbout } from "./server_connection.ts";
import type { ModernRequest } from "./server_links.ts";

/** The request that finds out the era of a server: only that is safe, for a lenient server could execute another one (MCP 2026-07-28, "Backward compatibility"). */
export const discoverRequest: ModernRequest = {
  id: 0,
  method: "server/discover",
  params: withEnvelope({}, {}),
};

/** Reads the answer to `server/discover`; `undefined` for that of a server without this revision. */
export function aboutOf(answer: unknown): ServerAbout | undefined {
  if (!isJsonObject(answer)) return undefined;
  const { supportedVersions, capabilities, instructions, code, data } = answer;
  const isModern = (versions: unknown) =>
    Array.isArray(versions) &&
    versions.some((version) => modernRevisions.has(version));
  const supported = isJsonObject(data) ? data["supported"] : undefined;
  const speaks = code === undefined
    ? isModern(supportedVersions)
    : code === RPC.HEADER_MISMATCH || code === RPC.MISSING_CAPABILITY ||
      code === RPC.UNSUPPORTED_VERSION && isModern(supported);
  return !speaks ? undefined : {
    era: "modern",
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

/** Reports whether an answer rejects the revision, and offers the same. */
export function rejectsRevision(answer: unknown): boolean {
  return isJsonObject(answer) && answer["code"] === RPC.UNSUPPORTED_VERSION &&
    aboutOf(answer) !== undefined;
}
