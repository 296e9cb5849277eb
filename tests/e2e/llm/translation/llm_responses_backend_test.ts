import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import {
  type ProviderRequestSeen,
  startProvider,
} from "../../../harness/llm/provider_server.ts";
import { responsesTarget } from "../../../harness/llm/responses_target.ts";

async function open(
  respond: (request: ProviderRequestSeen) => Response,
  llm: Readonly<Record<string, unknown>> = {},
) {
  await using opening = new AsyncDisposableStack();
  const provider = opening.use(startProvider(respond));
  const gateway = opening.use(
    await startTestGateway({
      routes: [{
        name: "llm",
        policies: { rateLimit: { local: [{ tokens: 20, unit: "Hours" }] } },
        backends: [{
          llm: {
            ...{ provider: "OpenAI", host: provider.host, plainText: true },
            ...{ api: "Responses", ...llm },
          },
        }],
      }],
    }),
  );
  const open = opening.move();
  return {
    provider,
    post: (path: string, body: unknown) =>
      fetch(gateway.origin + path, {
        method: "POST",
        body: JSON.stringify(body),
      }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const question = {
  model: "gpt-5.6",
  messages: [{ role: "user", content: "Hello" }],
};

Deno.test("chat completions reach a backend that speaks responses, and their tokens are counted", async () => {
  await using opened = await open(() => Response.json(responsesTarget.text));

  const first = await opened.post("/v1/chat/completions", question);
  const { choices } = await first.json();
  const second = await opened.post("/v1/chat/completions", question);
  await second.body?.cancel();
  const third = await opened.post("/v1/chat/completions", question);
  await third.body?.cancel();

  assert.equal(choices[0].message.content, "Hello there");
  assert.equal(opened.provider.requests[0]?.target, "/v1/responses");
  // Of 20 tokens, each response uses 19.
  assert.equal(second.status, 200);
  assert.equal(third.status, 429);
});

Deno.test("an error of responses has the form of the client's API", async () => {
  await using opened = await open(() =>
    Response.json(
      { error: { message: "no such model", code: "model_not_found" } },
      { status: 404 },
    )
  );

  const response = await opened.post("/v1/messages", {
    ...question,
    max_tokens: 9,
  });

  assert.equal(response.status, 404);
  const { type, error } = await response.json();
  assert.deepEqual([type, error.message], ["error", "no such model"]);
});

Deno.test("responses count the tokens of a request to Anthropic's API", async () => {
  await using opened = await open(() =>
    Response.json({ object: "response.input_tokens", input_tokens: 16 })
  );

  const response = await opened.post("/v1/messages/count_tokens", question);

  assert.deepEqual(await response.json(), { input_tokens: 16 });
  const [seen] = opened.provider.requests;
  assert.equal(seen?.target, "/v1/responses/input_tokens");
  assert.deepEqual(Object.keys(JSON.parse(seen?.body ?? "")), [
    "model",
    "input",
  ]);
});

Deno.test("a server that speaks responses gets those of clients as they are", async () => {
  await using opened = await open(
    () => Response.json({ error: { message: "no" } }, { status: 404 }),
    { provider: "OpenAICompatible" },
  );

  const response = await opened.post("/v1/responses", {
    model: "m",
    input: "Hello",
  });
  await response.body?.cancel();

  assert.equal(response.status, 404);
  assert.deepEqual(opened.provider.requests.map(({ target }) => target), [
    "/v1/responses",
  ]);
});

Deno.test("a provider without responses cannot speak them", async () => {
  await assert.rejects(
    open(() => new Response(), { provider: "Anthropic" }),
    /Provider "Anthropic" has no API of responses/,
  );
});
