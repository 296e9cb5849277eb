import { type Clock, systemClock } from "../../src/base/clock.ts";
import { startLlmServer } from "./llm_server.ts";
import type { Offer } from "./mcp/offer.ts";
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
  /** Origin of the LLM server, to which clients add `/v1/…`: `http://127.0.0.1:41235`. */
  readonly llmUrl: string;
  close(): Promise<void>;
}

/** Starts an MCP server and an LLM server in this process, on 127.0.0.1, with no account anywhere. */
export function startPlayground(options: PlaygroundOptions = {}): Playground {
  const { mcpPort = 0, llmPort = 0, clock = systemClock, ...more } = options;
  const mcp = startMcpServer({ ...more, port: mcpPort, clock });
  const llm = startLlmServer({ port: llmPort, clock });
  async function close() {
    await Promise.all([mcp.close(), llm.close()]);
  }
  return {
    mcpUrl: `${mcp.origin}/mcp`,
    llmUrl: llm.origin,
    close,
    [Symbol.asyncDispose]: close,
  };
}
