import { fetchRaw } from "../clients/fetch_raw.ts";
import { startTestGateway, type TestGateway } from "../gateway/gateway.ts";
import { type LlmAnswer, LlmUpstream } from "./llm_upstream.ts";

/** More tokens than any test uses. */
export const BUDGET = 1_000_000;

/** A provider behind a gateway with a token limit. */
export interface TokenBudget extends AsyncDisposable {
  readonly upstream: LlmUpstream;
  readonly gateway: TestGateway;
  readonly origin: string;
  /** Returns the charged tokens; waits a limited time for `expected`. */
  charged(expected: number): Promise<number>;
  /** Waits a limited time until that many POST requests have finished. */
  finished(posts: number): Promise<void>;
  /** Responses counted by that source, in the metrics. */
  answers(source: "reported" | "estimated" | "none"): Promise<number>;
}

/** Starts both. @param route More fields of the route. */
export async function openTokenBudget(
  answer: Parameters<typeof LlmUpstream.start>[0] | LlmAnswer,
  { tokens = BUDGET, route = {}, config = {}, rateLimit = {} }: {
    readonly tokens?: number;
    /** More fields of the policy. */
    readonly rateLimit?: Readonly<Record<string, unknown>>;
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
        policies: {
          rateLimit: {
            local: [{ tokens, unit: "Hours" }],
            onDisconnect: "Estimate",
            ...rateLimit,
          },
        },
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
    async charged(expected) {
      await waitFor(async () => await read() === expected);
      return await read();
    },
    finished: (posts) =>
      waitFor(() => {
        const log = gateway.accessLog.join("");
        return log.split("http.method=POST").length > posts;
      }),
    async answers(source) {
      const metrics = await gateway.gateway.dataPlane.call("collectMetrics");
      const line = new RegExp(
        `^gateway_llm_answers_total\\{.*usage_source="${source}"\\} (\\d+)$`,
        "m",
      );
      return Number(line.exec(metrics)?.[1] ?? 0);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** A client that left may be half closed: the gateway waits a moment before it takes it for gone. */
async function waitFor(
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const giveUpAt = Date.now() + 120_000;
  while (!await condition() && Date.now() < giveUpAt) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
