import { type Clock, systemClock } from "../../src/base/clock.ts";
import { startLlmServer } from "./llm_server.ts";
import type { Offer } from "./mcp/offer.ts";
import { createNotesOffer, createUnitsOffer } from "./mcp/small_offers.ts";
import { type Program, unitsProgram } from "./mcp/units_program.ts";
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

/** An MCP server of an endpoint, in the form of the configuration. */
type PlaygroundServer =
  & { readonly name: string }
  & ({ readonly url: string } | { readonly stdio: Program });

/** The servers behind the gateway, running. */
export interface Playground extends AsyncDisposable {
  /** Endpoint of the MCP server: `http://127.0.0.1:41234/mcp`. */
  readonly mcpUrl: string;
  /** MCP servers for one endpoint in front of all: the one at `mcpUrl`, and two more, one of which is a program where it can be. */
  readonly servers: readonly PlaygroundServer[];
  /** Origin of the LLM server, to which clients add `/v1/…`: `http://127.0.0.1:41235`. */
  readonly llmUrl: string;
  close(): Promise<void>;
}

/** Starts MCP servers and an LLM server in this process, on 127.0.0.1, with no account anywhere. */
export function startPlayground(options: PlaygroundOptions = {}): Playground {
  const { mcpPort = 0, llmPort = 0, clock = systemClock, ...more } = options;
  const mcp = startMcpServer({ ...more, port: mcpPort, clock });
  const notes = startMcpServer({ offer: createNotesOffer(), clock });
  const program = unitsProgram();
  const units = program === undefined
    ? startMcpServer({ offer: createUnitsOffer(), clock })
    : undefined;
  const llm = startLlmServer({ port: llmPort, clock });
  async function close() {
    const servers = [mcp, notes, llm, ...units === undefined ? [] : [units]];
    await Promise.all(servers.map((server) => server.close()));
  }
  return {
    mcpUrl: `${mcp.origin}/mcp`,
    servers: [
      { name: "demo", url: `${mcp.origin}/mcp` },
      { name: "notes", url: `${notes.origin}/mcp` },
      program === undefined
        ? { name: "units", url: `${units?.origin}/mcp` }
        : { name: "units", stdio: program },
    ],
    llmUrl: llm.origin,
    close,
    [Symbol.asyncDispose]: close,
  };
}
