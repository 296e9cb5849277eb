import { type Clock, systemClock } from "../../src/base/clock.ts";
import { startLlmServer } from "./llm_server.ts";
import type { Offer } from "./mcp/offer.ts";
import { createNotesOffer, createUnitsOffer } from "./mcp/small_offers.ts";
import { startMcpServer } from "./mcp_server.ts";

/** Options of the playground; every field has a default. */
export interface PlaygroundOptions {
  /** 0, the default, takes a free port. */
  readonly mcpPort?: number;
  /** 0, the default, takes a free port. */
  readonly llmPort?: number;
  /** Names besides localhost by which the gateway in front of the MCP server may be called. */
  readonly allowedHosts?: readonly string[];
  readonly clock?: Clock;
  /** Tools, prompts and resources of the MCP server. */
  readonly offer?: Offer;
}

/** The servers behind the gateway, running. */
export interface Playground extends AsyncDisposable {
  /** Endpoint of the MCP server: `http://127.0.0.1:41234/mcp`. */
  readonly mcpUrl: string;
  /** MCP servers for one endpoint in front of all: the one at `mcpUrl`, and two more. */
  readonly servers: readonly { readonly name: string; readonly url: string }[];
  /** Origin of the LLM server, to which clients add `/v1/…`: `http://127.0.0.1:41235`. */
  readonly llmUrl: string;
  close(): Promise<void>;
}

/** Starts MCP servers and an LLM server in this process, on 127.0.0.1, with no account anywhere. */
export function startPlayground(options: PlaygroundOptions = {}): Playground {
  const { mcpPort = 0, llmPort = 0, clock = systemClock, ...more } = options;
  const mcp = startMcpServer({ ...more, port: mcpPort, clock });
  const notes = startMcpServer({ offer: createNotesOffer(), clock });
  const units = startMcpServer({ offer: createUnitsOffer(), clock });
  const llm = startLlmServer({ port: llmPort, clock });
  async function close() {
    const servers = [mcp, notes, units, llm];
    await Promise.all(servers.map((server) => server.close()));
  }
  return {
    mcpUrl: `${mcp.origin}/mcp`,
    servers: Object.entries({ demo: mcp, notes, units }).map((
      [name, { origin }],
    ) => ({ name, url: `${origin}/mcp` })),
    llmUrl: llm.origin,
    close,
    [Symbol.asyncDispose]: close,
  };
}
