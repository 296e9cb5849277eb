/** Requests to LLMs that are sent to a second place after a failure. */
import assert from "node:assert/strict";
import { usageRows } from "../../../harness/gateway/usage_rows.ts";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { freePort } from "../../../harness/process/free_port.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import {
  type LlmAnswer,
  LlmUpstream,
} from "../../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../../unit/llm/llm_responses.ts";

const usage = { prompt_tokens: 70_000, completion_tokens: 5 };
const choices = [{ index: 0, delta: { content: "Hi" } }];
const good = {
  whole: { contentType: json, body: bytesOf(JSON.stringify({ usage })) },
  streamed: {
    contentType: "text/event-stream",
    body: bytesOf(
      event({ model: "m", choices }) +
        event({ model: "m", choices: [], usage }) + "data: [DONE]\n\n",
    ),
  },
} as const;

const nothing = new Uint8Array();
const failures: Readonly<Record<string, LlmAnswer>> = {
  "429": { contentType: json, body: bytesOf("{}"), status: 429 },
  "503": { contentType: json, body: bytesOf("{}"), status: 503 },
  "a closed connection": { contentType: json, body: nothing, closes: true },
};

/** Longer than a piece that is read at once, and as long as retries allow. */
const text = "Grüße 👋 ".repeat(4500);

/** Configurations that send a request to a second place. */
const places: Readonly<
  Record<
    string,
    (hosts: readonly string[]) => Readonly<Record<string, unknown>>
  >
> = {
  "the next priority": (hosts) => ({
    backends: hosts.map((host, priority) => ({
      priority,
      llm: {
        provider: "OpenAICompatible",
        host,
        plainText: true,
        credentials: { key: `key-${priority}` },
        overrides: { temperature: 0.5 },
      },
    })),
  }),
  "another endpoint": () => ({
    backends: [{ backend: "fleet" }],
    retry: { attempts: 1, codes: [429, 503], on: ["Closed"] },
  }),
};

function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function hostOf({ backends: [{ host }] }: LlmUpstream): string {
  return host;
}

async function checkSentTwice(
  place: string,
  failure: LlmAnswer,
  isStreamed: boolean,
): Promise<void> {
  const bodies: string[] = [];
  const respond = ({ body }: { readonly body: string }): LlmAnswer => {
    bodies.push(body);
    if (bodies.length === 1) return failure;
    return isStreamed ? good.streamed : good.whole;
  };
  await using first = await LlmUpstream.start(respond);
  await using second = await LlmUpstream.start(respond);
  await checkCounts({
    hosts: [hostOf(first), hostOf(second)],
    place,
    isStreamed,
  });

  assert.equal(bodies.length, 2);
  assert.equal(bodies[0], bodies[1]);
  const { messages } = JSON.parse(bodies[0] ?? "");
  assert.equal(messages[0].content, text);
  assert.deepEqual([first.requests.length, second.requests.length], [1, 1]);
}

/** Sends a request that succeeds at the second place, and checks that it counts once. */
async function checkCounts(
  { hosts, place, isStreamed }: {
    readonly hosts: readonly string[];
    readonly place: string;
    readonly isStreamed: boolean;
  },
): Promise<void> {
  const endpoints = hosts.map((each) => {
    const [host = "", port] = each.split(":");
    return { host, port: Number(port) };
  });
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      ...places[place]?.(hosts),
      policies: {
        rateLimit: {
          local: [
            { tokens: 1_000_000, unit: "Days" },
            { requests: 10, unit: "Days" },
          ],
        },
      },
    }],
    backends: [{ name: "fleet", endpoints }],
  });
  const { status, bytes } = await fetchRaw(
    `${gateway.origin}/v1/chat/completions`,
    {
      method: "POST",
      headers: { "content-type": json },
      body: JSON.stringify({
        model: "m",
        messages: [{ role: "user", content: text }],
        stream: isStreamed,
      }),
    },
  );
  assert.equal(status, 200, new TextDecoder().decode(bytes));

  const { dataPlane } = gateway.gateway;
  const [row, ...others] = await usageRows(dataPlane);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [row?.requests, row?.inputTokens, row?.outputTokens],
    [1, 70_000, 5],
  );
  const { budgets } = await dataPlane.call("describeState");
  assert.deepEqual(
    budgets.map(({ remaining }) => remaining),
    [1_000_000 - 70_005, 9],
  );
}

for (const place of Object.keys(places)) {
  for (const [name, failure] of Object.entries(failures)) {
    for (const isStreamed of [false, true]) {
      const form = isStreamed ? "for a stream " : "";
      Deno.test(`a request ${form}goes to ${place} after ${name} as it was, and counts once`, async () => {
        await checkSentTwice(place, failure, isStreamed);
      });
    }
  }

  Deno.test(`a request goes to ${place} after a refused connection as it was, and counts once`, async () => {
    await using second = await LlmUpstream.start(() => good.streamed);
    // Whichever of the endpoints is first, no response is missed.
    const hosts = [`127.0.0.1:${freePort()}`, hostOf(second)];
    await checkCounts({ hosts, place, isStreamed: true });

    const [{ body } = { body: "" }, ...others] = second.requests;
    assert.deepEqual(others, []);
    const { messages, stream_options: options } = JSON.parse(body);
    assert.equal(messages[0].content, text);
    assert.deepEqual(options, { include_usage: true });
  });
}
