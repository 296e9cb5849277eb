import { fetchRaw } from "./fetch_raw.ts";
import { startTestGateway, type TestGateway } from "./gateway.ts";
import { type LlmAnswer, LlmUpstream } from "./llm_upstream.ts";

/** More tokens than a test uses. */
export const budget = 1_000_000;

/** A provider behind a gateway that limits tokens. */
export interface TokenBudget extends AsyncDisposable {
  readonly upstream: LlmUpstream;
  readonly gateway: TestGateway;
  readonly origin: string;
  /** What was charged so far; waits for `expected`, where there is still something to read, and gives up in time. */
  charged(expected?: number): Promise<number>;
}

/** Starts both. @param route More fields of the route. */
export async function openTokenBudget(
  answer: Parameters<typeof LlmUpstream.start>[0] | LlmAnswer,
  { tokens = budget, route = {}, config = {} }: {
    readonly tokens?: number;
    readonly route?: Readonly<Record<string, unknown>>;
    readonly config?: Readonly<Record<string, unknown>>;
  } = {},
): Promise<TokenBudget> {
  await using opening = new AsyncDisposableStack();
  const upstream = opening.use(
    await LlmUpstream.start(
      typeof answer === "function" ? answer : () => answer,
    ),
  );
  const gateway = opening.use(
    await startTestGateway({
      ...config,
      routes: [{
        name: "llm",
        backends: upstream.backends,
        policies: { rateLimit: { local: [{ tokens, unit: "Hours" }] } },
        ...route,
      }],
    }),
  );
  const open = opening.move();
  const read = async () => {
    const { headers } = await fetchRaw(`${gateway.origin}/probe`);
    return tokens - Number(headers["x-ratelimit-remaining"]);
  };
  return {
    upstream,
    gateway,
    origin: gateway.origin,
    async charged(expected = 0) {
      let charged = await read();
      // A client that left may be half closed: the gateway waits a moment before it takes it for gone.
      const giveUpAt = Date.now() + 5000;
      while (charged !== expected && Date.now() < giveUpAt) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        charged = await read();
      }
      return charged;
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
