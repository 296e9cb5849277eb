/** One of three deployments of a model fails, in every way in which providers fail: no client sees any of it. */
import assert from "node:assert/strict";
import { isJsonObject, parseJson } from "../../../../src/base/json.ts";
import { answerChat } from "../../../harness/llm/chat_answers.ts";
import { eventStream } from "../../../harness/llm/llm_answers.ts";
import { chat, startModelGroup } from "../../../harness/llm/model_group.ts";
import {
  type ProviderRequestSeen,
  startProvider,
} from "../../../harness/llm/provider_server.ts";

const REQUESTS = 1000;
const AT_ONCE = 20;
/** The failing deployment, which may hang, has so long. */
const FIRST_BYTE = "250ms";

type Answer = (request: ProviderRequestSeen) => Response | Promise<Response>;

function fails(status: number, message = "no", headers = {}): Answer {
  return () => Response.json({ error: { message } }, { status, headers });
}

/** Waits until the gateway leaves. */
async function hang({ signal }: ProviderRequestSeen): Promise<Response> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  return new Response();
}

const streamed = { headers: { "content-type": "text/event-stream" } };

const ways: Readonly<Record<string, Answer>> = {
  "429": fails(429, "slow down", { "retry-after": "1" }),
  "429 without Retry-After": fails(429),
  "500": fails(500),
  "502": fails(502),
  "503": fails(503),
  "529": fails(529, "Overloaded"),
  "a rejected key": fails(401),
  "a forbidden model": fails(403),
  "a model that is gone": fails(404, "The model does not exist"),
  "a context that is too long": fails(400, "context_length_exceeded"),
  "streams that end before their first event": () =>
    new Response(": wait\n\n", streamed),
  "streams that begin with an error": () =>
    eventStream([{ type: "error", error: { message: "Overloaded" } }]),
  "answers that break off": () => breakOff(),
  "no response at all": hang,
};

/** An answer whose connection breaks after its first bytes. */
function breakOff(): Response {
  let reads = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (reads++ > 0) return controller.error(new Error("broken"));
      controller.enqueue(new TextEncoder().encode('{"id":"1","choices":['));
    },
  });
  return new Response(body, {
    headers: { "content-type": "application/json" },
  });
}

for (const [way, answer] of Object.entries(ways)) {
  Deno.test(`a deployment that fails with ${way} costs none of ${REQUESTS} requests`, async () => {
    await using failing = startProvider(answer);
    await using second = startProvider(answerChat);
    await using third = startProvider(answerChat);
    await using gateway = await startModelGroup([
      [failing, {}, { timeouts: { firstByte: FIRST_BYTE } }],
      [second],
      [third],
    ]);
    let [left, whole] = [REQUESTS, 0];
    const faults = new Set<string>();
    const client = async () => {
      while (left-- > 0) {
        const stream = left % 2 === 0;
        const response = await chat(gateway, { stream });
        const text = await response.text().catch(String);
        const isWhole = stream
          ? text.endsWith("data: [DONE]\n\n") || text.includes('"stop"')
          : isJsonObject(parseJson(text));
        if (response.ok && isWhole) whole++;
        else faults.add(`${response.status} ${text.slice(0, 200)}`);
      }
    };

    await Promise.all(Array.from({ length: AT_ONCE }, client));

    assert.deepEqual([...faults], []);
    assert.equal(whole, REQUESTS);
    assert(failing.requests.length > 0);
  });
}
