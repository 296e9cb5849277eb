import assert from "node:assert/strict";
import { startLlmServer } from "../../../../cli/dev/llm_server.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";

/** Sends one chat completion through a gateway; answers its line of the access log, and what the client read. */
async function chat(
  request: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly logged: string; readonly body: string }> {
  const server = startLlmServer();
  await using _ = { [Symbol.asyncDispose]: () => server.close() };
  const accessLog: string[] = [];
  let body = "";
  {
    await using gateway = await startTestGateway({
      routes: [{
        name: "llm",
        backends: [{ host: new URL(server.origin).host }],
      }],
    });
    const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({
        model: "any",
        messages: [{ role: "user", content: "Hello there" }],
        ...request,
      }),
    });
    body = await response.text();
    await gateway.gateway.stop(1000);
    accessLog.push(...gateway.accessLog);
  }
  return { logged: accessLog.join(""), body };
}

for (
  const [how, request, headers] of [
    ["whole", {}, {}],
    ["compressed", {}, { "accept-encoding": "gzip" }],
    [
      "streamed",
      { stream: true, stream_options: { include_usage: true } },
      {},
    ],
  ] as const
) {
  Deno.test(`access log has the tokens of a ${how} LLM answer`, async () => {
    const { logged } = await chat(request, headers);

    assert.match(logged, /gen_ai\.usage\.input_tokens=5 /);
    assert.match(logged, /gen_ai\.usage\.output_tokens=4 /);
    assert.doesNotMatch(logged, /estimated/);
  });
}

Deno.test("access log says so when the tokens of an LLM answer are a guess", async () => {
  const { logged, body } = await chat({ stream: true });

  assert.match(logged, /gen_ai\.usage\.output_tokens=\d+ /);
  assert.match(logged, /gen_ai\.usage\.estimated=true/);
  assert.doesNotMatch(body, /usage/);
});
