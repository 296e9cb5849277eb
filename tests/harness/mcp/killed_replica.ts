import { askUser } from "../../../cli/dev/mcp/input.ts";
import { objectSchema, type Offer, text } from "../../../cli/dev/mcp/offer.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { GatewayProcess } from "../gateway/gateway_process.ts";
import { callModern } from "./modern_call.ts";
import { startOneEra } from "./one_era.ts";

/** Fate of a call whose gateway was killed while its user was asked. */
export interface LostCall {
  /** Text of the result, or of the error. */
  readonly outcome: string;
  /** Number of times that the tool did what it was called for. */
  readonly effects: number;
}

/** Calls a tool of a server of an era, which asks the user first; kills the replica that has the call, and answers at another one. */
export async function killBetweenRounds(
  era: "legacy" | "modern",
): Promise<LostCall> {
  await using stack = new AsyncDisposableStack();
  const state = { effects: 0 };
  const server = startMcpServer({ offer: offerOf(state) });
  stack.defer(() => server.close());
  const { url } = stack.use(startOneEra(`${server.origin}/mcp`, era));
  const config = {
    config: { sessionSecret: "0123456789abcdef0123456789abcdef" },
    routes: [{ backends: [{ mcp: { servers: [{ name: "demo", url }] } }] }],
  };
  const [first, second] = await Promise.all([
    GatewayProcess.start({ config }),
    GatewayProcess.start({ config }),
  ]);
  stack.use(second);
  const call = (origin: string, more: object = {}) =>
    callModern(`${origin}/mcp`, "tools/call", {
      name: "approve",
      arguments: {},
      ...more,
    }, { capabilities: { elicitation: {} } });

  const asked = await call(first.origin);
  const { inputRequests, requestState } = asked.result;
  first.signal("SIGKILL");
  await first.exitCode();
  await first[Symbol.asyncDispose]();
  const [key = ""] = Object.keys(inputRequests);
  const answer = { action: "accept", content: { ok: true } };
  const input = {
    inputResponses: { [key]: answer },
    ...(requestState !== undefined && { requestState }),
  };
  const { result, error } = await call(second.origin, input);
  return {
    outcome: result?.content?.[0]?.text ?? error?.message ?? "nothing",
    effects: state.effects,
  };
}

function offerOf(state: { effects: number }): Offer {
  return {
    tools: {
      approve: {
        description: "Does something after the user has agreed",
        inputSchema: objectSchema(),
        call(_, caller) {
          if (caller.response("ok") === undefined) {
            const form = {
              type: "object" as const,
              properties: { ok: { type: "boolean" as const } },
            };
            return { requests: { ok: askUser("Really?", form) } };
          }
          state.effects++;
          return [text("done")];
        },
      },
    },
    prompts: {},
    resources: [],
    resourceTemplates: [],
    readResource: () => undefined,
    completeArgument: () => [],
  };
}
