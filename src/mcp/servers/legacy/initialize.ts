import type { Cancellation } from "../../../base/cancellation.ts";
import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../../base/json.ts";
import {
  gatewayInfo,
  LEGACY_REVISION,
  legacyRevisions,
} from "../../protocol/revisions.ts";
import {
  RpcFailure,
  writeNotification,
  writeRequest,
} from "../../protocol/rpc_messages.ts";
import { ServerFailure, SessionLost } from "../failures/server_failure.ts";
import type { ConnectionOptions, ServerAbout } from "../server_connection.ts";
import type { LegacyLink } from "../server_links.ts";

/**
 * Begins a session at a server, and returns its declarations.
 * @param id Of the request.
 * @throws {ServerFailure} When it rejects that, or speaks no known revision.
 */
export async function initialize(
  link: LegacyLink,
  id: number,
  { settings, capabilities }: Pick<
    ConnectionOptions,
    "settings" | "capabilities"
  >,
  cancellation: Cancellation,
): Promise<ServerAbout> {
  const invalid = (problem: string, cause?: Error) =>
    new ServerFailure(settings.name, "unreachable", problem, { cause });
  try {
    const text = writeRequest(id, "initialize", {
      protocolVersion: LEGACY_REVISION,
      capabilities,
      clientInfo: gatewayInfo,
    });
    const result = await findResult(link, text, id, cancellation);
    const revision = result && stringMember(result, "protocolVersion");
    if (result === undefined || revision === undefined) {
      throw invalid("sent no valid answer to initialize");
    }
    if (!legacyRevisions.includes(revision)) {
      throw invalid("speaks a revision that the gateway does not know");
    }
    link.revision = revision;
    const initialized = writeNotification("notifications/initialized", {});
    await link.post(initialized, cancellation);
    const { capabilities: own, instructions } = result;
    return {
      era: "legacy",
      capabilities: isJsonObject(own) ? own : {},
      instructions: typeof instructions === "string" ? instructions : undefined,
    };
  } catch (error) {
    if (!(error instanceof RpcFailure || error instanceof SessionLost)) {
      throw error;
    }
    throw invalid("rejects initialize", error);
  }
}

async function findResult(
  link: LegacyLink,
  text: string,
  id: number,
  cancellation: Cancellation,
): Promise<JsonObject | undefined> {
  for await (const message of link.exchange(text, id, cancellation)) {
    if (message.kind === "error") throw RpcFailure.of(message.error);
    if (message.kind === "result" && message.id === id) return message.result;
  }
  return undefined;
}
