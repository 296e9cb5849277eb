import { startPlayground } from "../../../cli/dev/playground.ts";
import { startTestGateway } from "../gateway/gateway.ts";
import { conformanceOffer } from "../mcp/conformance_offer.ts";

/** A network path from clients to a server. */
export interface Path {
  /** Completes a test title such as "the client reads the response …". */
  readonly name: string;
  /** Opens the path to the server at `origin`; disposing closes the path, not the server. */
  reach(origin: string): Promise<Reached>;
}

/** The client side of a path. */
export interface Reached extends AsyncDisposable {
  readonly origin: string;
}

/** Connects client and server directly. */
export const directly: Path = {
  name: "directly",
  reach: (origin) =>
    Promise.resolve({ origin, [Symbol.asyncDispose]: () => Promise.resolve() }),
};

/** Connects them through a gateway with one plain route. */
export const throughGateway: Path = {
  name: "through the gateway",
  reach: (origin) => reachThrough(origin, {}),
};

/** Connects them through a gateway that reads every MCP message, for a rule that denies nothing. */
export const throughRules: Path = {
  name: "through a gateway with rules for tools",
  reach: (origin) =>
    reachThrough(origin, {
      authorization: {
        policy: {
          matchExpressions: ["!has(mcp.tool) || mcp.tool.name != 'drop_table'"],
        },
      },
    }),
};

async function reachThrough(
  origin: string,
  policies: Readonly<Record<string, unknown>>,
): Promise<Reached> {
  const host = new URL(origin).host;
  const running = await startTestGateway({
    routes: [{ name: "all", backends: [{ host }], policies }],
  });
  return {
    origin: running.origin,
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** All paths; clients must observe no difference. */
export const paths: readonly Path[] = [directly, throughGateway];

/** The playground at the client side of a path. */
export interface ReachedPlayground extends AsyncDisposable {
  readonly mcpUrl: string;
  readonly llmUrl: string;
}

/** Starts a playground with everything that the conformance suite requires, and opens the path to it. */
export async function openPlayground(path: Path): Promise<ReachedPlayground> {
  await using opening = new AsyncDisposableStack();
  const { mcpUrl, llmUrl } = opening.use(
    startPlayground({ offer: conformanceOffer }),
  );
  const mcp = opening.use(await path.reach(new URL(mcpUrl).origin));
  const llm = opening.use(await path.reach(llmUrl));
  const open = opening.move();
  return {
    mcpUrl: `${mcp.origin}/mcp`,
    llmUrl: llm.origin,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
