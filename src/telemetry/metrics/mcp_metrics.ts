import type { MetricRegistry } from "./metrics.ts";

/** Readings of the endpoints of MCP servers. */
export interface McpReadings {
  /** Endpoints of MCP servers. */
  mcpEndpoints(): Iterable<{
    readonly backend: string;
    readonly servers: readonly {
      readonly name: string;
      readonly isUp: boolean;
      readonly tools: Readonly<Record<typeof toolStates[number], number>>;
    }[];
    readonly sessions: number;
    readonly waitingCalls: number;
  }>;
}

/** A call of a tool of an MCP server. */
export interface ToolCall {
  /** Name of the backend. */
  readonly backend: string;
  readonly server: string;
  /** Name that clients use; empty for one that the server has not listed: clients can choose it. */
  readonly tool: string;
  /** `tool_error` is a result with `isError`. */
  readonly result: "ok" | "tool_error" | "error";
  /** Time until the result; of a call that asks its client, until the question. */
  readonly seconds: number;
}

// deno-fmt-ignore
const secondsBounds = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

/** Adds the metrics of calls; returns what counts one. */
export function createToolCallMetrics(
  registry: MetricRegistry,
): (call: ToolCall) => void {
  const calls = registry.counter(
    "gateway_mcp_calls_total",
    "Calls of tools of MCP servers; the tool is empty for names that a server has not listed",
    ["backend", "server", "tool", "result"],
  );
  const duration = registry.histogram(
    "gateway_mcp_call_duration_seconds",
    "Time until the result of a call of a tool of an MCP server",
    ["backend", "server"],
    secondsBounds,
  );
  const seriesOf = (call: ToolCall) => {
    const { backend, server, tool, result } = call;
    return {
      call,
      count: calls.labels(backend, server, tool, result),
      time: duration.labels(backend, server),
    };
  };
  // Many calls in a row are of one tool.
  let latest: ReturnType<typeof seriesOf> | undefined;
  return (call) => {
    if (latest === undefined || !isAlike(latest.call, call)) {
      latest = seriesOf(call);
    }
    latest.count.inc();
    latest.time.observe(call.seconds);
  };
}

function isAlike(a: ToolCall, b: ToolCall): boolean {
  return a.tool === b.tool && a.server === b.server &&
    a.backend === b.backend && a.result === b.result;
}

const toolStates = ["listed", "held", "suspicious"] as const;

/** Adds the metrics of servers and clients of the endpoints. */
export function addMcpMetrics(
  registry: MetricRegistry,
  { mcpEndpoints }: McpReadings,
): void {
  registry.computed(
    "gauge",
    "gateway_mcp_servers",
    "MCP servers of endpoints that requests use, by state; each worker counts its own",
    ["backend", "server", "state"],
    () =>
      Iterator.from(mcpEndpoints()).flatMap(({ backend, servers }) =>
        servers.map(({ name, isUp }) =>
          [1, backend, name, isUp ? "up" : "failed"] as const
        )
      ),
  );
  registry.computed(
    "gauge",
    "gateway_mcp_tools",
    "Tools of MCP servers in their latest lists: those that the configuration lets clients have, those held back until they are approved, and suspicious ones",
    ["backend", "server", "state"],
    () =>
      Iterator.from(mcpEndpoints()).flatMap(({ backend, servers }) =>
        servers.flatMap(({ name, tools }) =>
          toolStates.map((state) =>
            [tools[state], backend, name, state] as const
          )
        )
      ),
    "max",
  );
  registry.computed(
    "gauge",
    "gateway_mcp_clients",
    "Sessions of MCP clients at endpoints, and calls that wait for their clients",
    ["backend", "state"],
    () =>
      Iterator.from(mcpEndpoints()).flatMap((
        { backend, sessions, waitingCalls },
      ) => [
        [sessions, backend, "session"] as const,
        [waitingCalls, backend, "waiting"] as const,
      ]),
  );
}
