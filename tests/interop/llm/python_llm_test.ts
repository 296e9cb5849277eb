/** The official Python SDKs of LLM providers; `make interop-llm-python` installs them and runs this file. */
import assert from "node:assert/strict";
import {
  answerChat,
  answerCohere,
  answerMistral,
  answerOllama,
} from "../../harness/llm/chat_answers.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  type ProviderRequestSeen,
  startProvider,
} from "../../harness/llm/provider_server.ts";
import { translationTargets } from "../../harness/llm/translation_targets.ts";

interface Sdk {
  readonly name: string;
  /** Provider of an LLM backend that has its API. */
  readonly provider?: string;
  /** Calls that its program makes. */
  readonly calls: number;
  readonly respond: (request: ProviderRequestSeen) => Response;
  readonly settings?: Readonly<Record<string, unknown>>;
}

const sdks: readonly Sdk[] = [
  {
    name: "openai",
    provider: "OpenAI",
    calls: 4,
    respond: (request) => answerChat(request),
  },
  {
    name: "mistral",
    provider: "OpenAICompatible",
    calls: 3,
    respond: answerMistral,
  },
  { name: "cohere", calls: 3, respond: answerCohere },
  { name: "ollama", calls: 4, respond: answerOllama },
  ...translationTargets.map(({ provider, settings = {} }) => ({
    name: provider.toLowerCase(),
    provider,
    calls: 4,
    respond: answerAs(provider),
    settings,
  })),
];

/** Returns a provider that calls the tool of the request, and else sends a text. */
function answerAs(name: string) {
  const target = translationTargets.find(({ provider }) => provider === name) ??
    assert.fail();
  return ({ target: path, body }: ProviderRequestSeen): Response => {
    const { tools, toolConfig, stream } = JSON.parse(body);
    const isCall = (tools ?? toolConfig) !== undefined;
    const isStream = stream === true || path.includes("stream");
    if (isStream) return isCall ? target.callStream() : target.textStream();
    return Response.json(isCall ? target.call : target.text);
  };
}

interface Outcome {
  readonly text: string;
  readonly calls: readonly unknown[];
  readonly usage: readonly number[];
}

/** Runs all calls of an SDK. */
async function run(
  sdk: string,
  url: string,
): Promise<Readonly<Record<string, Outcome>>> {
  const folder = Deno.env.get("PYTHON_CLIENTS");
  assert(folder, "PYTHON_CLIENTS is not set: use make");
  const file = new URL("../python/llm_sdks.py", import.meta.url);
  const child = new Deno.Command(`${folder}/llm/bin/python`, {
    args: [file.pathname],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  const request = JSON.stringify({ sdk, url });
  await new Blob([request]).stream().pipeTo(child.stdin);
  const { stdout, stderr, success } = await output;
  assert(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

const policies = {
  rateLimit: { local: [{ tokens: 1_000_000, unit: "Hours", reserve: true }] },
};

for (const { name, provider, calls, respond, settings = {} } of sdks) {
  Deno.test(`${name} for Python gets the same directly and through the gateway`, async () => {
    await using upstream = startProvider(respond);
    const direct = await run(name, `http://${upstream.host}`);
    assertComplete(direct, calls);

    await using route = await startTestGateway({
      routes: [{ name: "r", policies, backends: [{ host: upstream.host }] }],
    });
    assert.deepEqual(await run(name, route.origin), direct);

    if (provider === undefined) return;
    await using backend = await startTestGateway({
      routes: [{
        name: "r",
        policies,
        backends: [{
          llm: {
            ...{ provider, host: upstream.host, plainText: true },
            credentials: { key: "provider-key" },
            ...settings,
          },
        }],
      }],
    });
    assert.deepEqual(await run(name, backend.origin), direct);
    const last = upstream.requests.at(-1);
    const sent = JSON.stringify([...last?.headers ?? []]);
    assert.doesNotMatch(sent, /client-key/);
  });
}

for (const { provider, settings = {} } of translationTargets) {
  for (const client of ["openai", "anthropic"]) {
    if (client === provider.toLowerCase()) continue;
    Deno.test(`${client} for Python uses ${provider}: text, tools and usage`, async () => {
      await using upstream = startProvider(answerAs(provider));
      await using gateway = await startTestGateway({
        routes: [{
          name: "r",
          policies,
          backends: [{
            llm: {
              ...{ provider, host: upstream.host, plainText: true },
              credentials: { key: "provider-key" },
              ...settings,
            },
          }],
        }],
      });

      const outcomes = await run(client, gateway.origin);

      assertComplete(outcomes, 4);
      const usage = client === "openai" ? [14, 5] : outcomes["text"]?.usage;
      for (const each of Object.values(outcomes)) {
        assert.deepEqual(each.usage, usage);
      }
    });
  }
}

/** Asserts that all calls returned the text or the call of the provider. */
function assertComplete(
  outcomes: Readonly<Record<string, Outcome>>,
  calls: number,
): void {
  const shown = JSON.stringify(outcomes, null, 2);
  assert.equal(Object.keys(outcomes).length, calls, shown);
  for (const [name, outcome] of Object.entries(outcomes)) {
    const isCall = name.startsWith("call");
    assert.deepEqual(
      outcome.calls,
      isCall ? [["get_weather", { city: "Oslo" }]] : [],
      shown,
    );
    if (!isCall) assert.equal(outcome.text, "Hello there", shown);
    assert(outcome.usage.every((count) => count > 0), shown);
  }
}
