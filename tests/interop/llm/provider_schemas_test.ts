/** The schemas of LLM providers, as their Python packages have them; `make interop-llm-python` installs them and runs this file. */
import assert from "node:assert/strict";
import { UntranslatableError } from "../../../src/llm/translation/conversation/losses.ts";
import { translate } from "../../../src/llm/translation/translation.ts";
import {
  isServed,
  recordedModels,
  recordedRequests,
} from "../../harness/llm/recorded_requests.ts";

/** A request as a provider gets it. */
interface Written {
  readonly client: string;
  readonly family: string;
  readonly model: string;
  readonly body: unknown;
}

/** Translates all recorded requests to all providers. */
function writeAll(): readonly Written[] {
  return recordedRequests.flatMap(({ operation, body }) =>
    recordedModels.filter(([target]) => !isServed(target, operation))
      .flatMap(([target, model]) => {
        const options = { target, model, id: "r1", now: 0 };
        try {
          const { body: { model: _model, ...rest } } = translate(
            operation,
            body,
            { ...options, unsupported: "Drop" },
          );
          const hasModel = target !== "gemini" && target !== "bedrock";
          return [{
            client: operation.name,
            family: target,
            model,
            body: hasModel ? { model, ...rest } : rest,
          }];
        } catch (error) {
          if (error instanceof UntranslatableError) return [];
          throw error;
        }
      })
  );
}

/** Returns the problems of each request. */
async function check(
  requests: readonly Written[],
): Promise<readonly (readonly string[])[]> {
  const folder = Deno.env.get("PYTHON_CLIENTS");
  assert(folder, "PYTHON_CLIENTS is not set: use make");
  const file = new URL("../python/llm_schemas.py", import.meta.url);
  const child = new Deno.Command(`${folder}/llm/bin/python`, {
    args: [file.pathname],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  const lines = requests.map((each) => JSON.stringify(each)).join("\n");
  await new Blob([lines]).stream().pipeTo(child.stdin);
  const { stdout, stderr, success } = await output;
  assert(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("the schemas of all providers accept every translated request", async () => {
  const requests = writeAll();
  const found = await check(requests);

  assert(requests.length > 500);
  assert.equal(found.length, requests.length);
  const problems = requests.flatMap(({ client, model }, index) =>
    (found[index] ?? []).map((each) => `${client} → ${model}: ${each}`)
  );
  assert.deepEqual(problems, []);
});

Deno.test("the schemas reject requests that are not those of the providers", async () => {
  const messages = [{ role: "user", content: [{ type: "text" }] }];
  const wrong = [
    ["openai", { model: "m", messages }],
    ["anthropic", { model: "m", max_tokens: 1, messages }],
    ["responses", { model: "m", input: [{ type: "function_call" }] }],
    ["gemini", { contents: [{ parts: [{ text: 1 }] }] }],
    ["bedrock", { messages: [{ role: "user", content: [{ txt: "a" }] }] }],
  ] as const;
  const found = await check(
    wrong.map(([family, body]) => ({ client: "", model: "", family, body })),
  );

  assert(found.every((problems) => problems.length > 0));
});
