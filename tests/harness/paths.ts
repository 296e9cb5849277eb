import { startPlayground } from "../../cli/dev/playground.ts";
import { startTestGateway } from "./gateway.ts";
import { conformanceOffer } from "./mcp/conformance_offer.ts";

/** A way from clients to a server. */
export interface Path {
  /** Completes "the client reads the answer …". */
  readonly name: string;
  /** Opens the way to the server at `origin`; disposing closes it, not the server. */
  reach(origin: string): Promise<Reached>;
}

/** Where to find a server at the near end of a path. */
export interface Reached extends AsyncDisposable {
  readonly origin: string;
}

/** With nothing between client and server. */
export const directly: Path = {
  name: "directly",
  reach: (origin) =>
    Promise.resolve({ origin, [Symbol.asyncDispose]: () => Promise.resolve() }),
};

/** Through a gateway with one plain route. */
export const throughGateway: Path = {
  name: "through the gateway",
  async reach(origin) {
    const host = new URL(origin).host;
    const running = await startTestGateway({
      routes: [{ name: "all", backends: [{ host }] }],
    });
    return {
      origin: running.origin,
      [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
    };
  },
};

/** Every path; clients must not see a difference. */
export const paths: readonly Path[] = [directly, throughGateway];

/** The playground at the near end of a path. */
export interface ReachedPlayground extends AsyncDisposable {
  readonly mcpUrl: string;
  readonly llmUrl: string;
}

/** Starts a playground that offers what the conformance suite requires, and opens the path to it. */
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
