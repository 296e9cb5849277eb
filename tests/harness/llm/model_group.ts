import type { Clock } from "../../../src/base/clock.ts";
import {
  startTracedGateway,
  type TracedGateway,
} from "../gateway/traced_gateway.ts";
import type { ProviderServer } from "./provider_server.ts";

/** A backend of a group, and what is special about it. */
export type GroupMember = readonly [
  server: ProviderServer,
  settings?: Readonly<Record<string, unknown>>,
  /** Fields of the backend beside `llm`. */
  fields?: Readonly<Record<string, unknown>>,
];

/** Starts a gateway with a route to several providers, named `one`, `two` and so on. */
export async function startModelGroup(
  members: readonly GroupMember[],
  { clock, config, ...rule }: {
    readonly clock?: Clock;
    readonly config?: unknown;
    readonly [field: string]: unknown;
  } = {},
): Promise<TracedGateway> {
  const names = ["one", "two", "three"];
  return await startTracedGateway({
    config,
    routes: [{
      name: "chat",
      ...rule,
      backends: members.map((_, index) => ({ backend: names[index] })),
    }],
    backends: members.map(([{ host }, settings, fields], index) => ({
      ...fields,
      name: names[index],
      llm: {
        provider: "OpenAICompatible",
        host,
        plainText: true,
        ...settings,
      },
    })),
  }, clock && { clock });
}

/** Sends a chat to a gateway. */
export function chat(
  { origin }: Pick<TracedGateway, "origin">,
  more: Readonly<Record<string, unknown>> = {},
  init: RequestInit = {},
): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "small",
      messages: [{ role: "user", content: "Hello" }],
      ...more,
    }),
    ...init,
  });
}
