import type { Cancellation } from "../../../base/cancellation.ts";
import type { JsonObject } from "../../../base/json.ts";
import { writeRequest } from "../../protocol/rpc_messages.ts";
import type { Era } from "../../protocol/revisions.ts";
import { DuplexLegacyLink, DuplexModernLink } from "../duplex/duplex_links.ts";
import { aboutOf, discoverRequest, rejectsRevision } from "../era_probe.ts";
import { LegacyConnection } from "../legacy/legacy_connection.ts";
import { MessageLimit } from "../failures/message_limit.ts";
import { ModernConnection } from "../modern_connection.ts";
import type { ServerAbout } from "../server_connection.ts";
import type { ConnectorOptions } from "../server_connector.ts";
import { ServerFailure } from "../failures/server_failure.ts";
import type { LiveServer } from "./process_slot.ts";
import type { ServerProcess } from "./server_process.ts";

/** Part of the time to connect after which a server that does not answer `server/discover` is asked in the other way. */
const PROBE_PART = 0.5;

/**
 * Starts a process and agrees with it on an era.
 * @param era Of the last process of the server; `undefined` to find it out.
 * @throws {ServerFailure}
 */
export async function openProcess(
  start: () => Promise<ServerProcess>,
  era: Era | undefined,
  capabilities: JsonObject,
  options: ConnectorOptions,
): Promise<LiveServer> {
  const process = await start();
  try {
    const about = era === "legacy" ? undefined : await probe(process, options);
    if (about === undefined && process.router.isOver && era !== "legacy") {
      // Some servers end at the first message that is not "initialize".
      await process.ended;
      if (!process.isStartable) throw process.failure;
      return await openProcess(start, "legacy", capabilities, options);
    }
    const all = { ...options, capabilities };
    const connection = about === undefined
      ? await LegacyConnection.open(() => new DuplexLegacyLink(process), all)
      : new ModernConnection(new DuplexModernLink(process), { ...all, about });
    return { process, connection };
  } catch (error) {
    await process.stop();
    throw error;
  }
}

/** Asks with `server/discover`; any answer but that of this revision, and silence too, mean the other era (MCP 2026-07-28, "stdio"). */
async function probe(
  { router }: ServerProcess,
  { settings: { name, timeouts }, clock, closing }: ConnectorOptions,
): Promise<ServerAbout | undefined> {
  const limit = new MessageLimit(
    closing,
    clock,
    timeouts.connectMs * PROBE_PART,
    () => new ServerFailure(name, "timeout", "did not respond in time"),
  );
  try {
    let answer = await discover(router, limit.cancellation);
    if (rejectsRevision(answer)) {
      answer = await discover(router, limit.cancellation);
    }
    return aboutOf(answer);
  } catch (error) {
    if (error instanceof ServerFailure && !closing.cancelled) return undefined;
    throw error;
  } finally {
    limit.end();
  }
}

async function discover(
  router: ServerProcess["router"],
  cancellation: Cancellation,
): Promise<unknown> {
  const { id, method, params } = discoverRequest;
  const text = writeRequest(id, method, params);
  for await (const message of router.exchange(id, text, cancellation)) {
    if (message.kind === "result") return message.result;
    if (message.kind === "error") return message.error;
  }
  return undefined;
}
