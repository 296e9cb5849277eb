import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../../src/base/json.ts";
import { BytesBody } from "../../../../src/http/body.ts";
import type { TargetName } from "../../../../src/llm/translation/targets/target_apis.ts";
import { translate } from "../../../../src/llm/translation/translation.ts";
import { TranslatedBody } from "../../../../src/proxy/llm/translated_body.ts";

/** Recorded responses of real providers; they are not part of this repository. */
const directory = new URL(
  "../../../../../shared/vectors/llm/",
  import.meta.url,
);

const families: ReadonlyMap<string, TargetName> = new Map<string, TargetName>([
  ["anthropic", "anthropic"],
  ["gemini", "gemini"],
  ["bedrock-converse", "bedrock"],
  ["openai-chat", "openai"],
  ["openai-responses", "responses"],
]);

const names = await list();

Deno.test(`${names.length} recorded answers keep text, calls and usage in both forms`, async () => {
  for (const name of names) {
    const recorded = JSON.parse(
      await Deno.readTextFile(new URL(name, directory)),
    );
    const target = families.get(recorded.kind);
    if (target === undefined || recorded.stream) continue;
    const answer = JSON.parse(recorded.body);
    // Responses repeat the tools of the request.
    const said = saidIn(JSON.stringify(answer.output ?? answer));
    for (const family of ["openai", "anthropic"] as const) {
      const { reader, writer } = begin(family, target);
      // Tools of the provider itself, which the gateway lets nobody request.
      const isForeign =
        /"type":"(?!text|tool_use|thinking)\w+_tool_(use|result)"/
          .test(recorded.body) ||
        recorded.body.includes('"type":"server_tool_use"');
      if (isForeign) {
        assert.throws(() => reader.whole(answer), /content of type/, name);
        continue;
      }
      const written = writer.whole(reader.whole(answer));
      const usage = written["usage"];
      assert(isJsonObject(usage), name);
      const { output } = recorded.expect;
      const text = JSON.stringify(written);
      for (const part of said) {
        assert.ok(text.includes(part), `${name}: ${part}`);
      }
      assert.equal(inputOf(usage), recorded.expect.input, name);
      assert.equal(
        usage["completion_tokens"] ?? usage["output_tokens"],
        output,
        name,
      );
    }
  }
});

function begin(family: "openai" | "anthropic", target: TargetName) {
  const name = family === "openai" ? "chat/completions" : "messages";
  return translate(
    { family, name },
    { model: "m", max_tokens: 1, messages: [] },
    { target, model: undefined, id: "id", now: 0, unsupported: "Drop" },
  );
}

function inputOf(usage: JsonObject): number {
  const of = (name: string) => Number(usage[name] ?? 0);
  return of("prompt_tokens") + of("input_tokens") +
    of("cache_read_input_tokens") + of("cache_creation_input_tokens");
}

/** Returns the JSON of texts and names of tools. */
function saidIn(body: string): readonly string[] {
  const texts = body.matchAll(/"(?:text|name)":("(?:[^"\\]|\\.)+")/g);
  return Array.from(texts, ([, text = ""]) => text)
    .filter((text) => !text.includes("answer_as_json"))
    // In arguments, which are JSON in a string for OpenAI.
    .map((text) => JSON.stringify(JSON.parse(text)).slice(1, -1));
}

const stream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","model":"claude","usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm 👋"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello 👋"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`;

function read(bytes: Uint8Array, size: number): Promise<string> {
  const pieces = Array.from(
    { length: Math.ceil(bytes.length / size) },
    (_, index) => bytes.subarray(index * size, (index + 1) * size),
  );
  const source = {
    length: undefined,
    trailers: undefined,
    read: () => pieces.shift(),
    cancel: () => undefined,
  };
  const { reader, writer } = begin("openai", "anthropic");
  const body = new TranslatedBody(source, "text/event-stream", {
    reader,
    writer,
  });
  return readAll(body);
}

async function readAll(body: TranslatedBody): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for (let chunk = await body.read(); chunk; chunk = await body.read()) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

Deno.test("a translated stream does not depend on how it arrives", async () => {
  const bytes = new TextEncoder().encode(stream);
  const whole = await read(bytes, bytes.length);

  assert.match(whole, /"content":"Hello 👋"/);
  assert.match(whole, /"reasoning_content":"Hm 👋"/);
  assert.match(whole, /"thinking":"Hm 👋","signature":"s1"/);
  assert.match(whole, /data: \[DONE\]\n\n$/);
  for (const size of [1, 2, 3, 7, 100]) {
    assert.equal(await read(bytes, size), whole);
  }
});

Deno.test("a stream that is cut off is no complete answer", async () => {
  const bytes = new TextEncoder().encode(stream);
  const end = stream.indexOf("event: message_delta");
  const until = new TextEncoder().encode(stream.slice(0, end)).length;

  await assert.rejects(
    read(bytes.subarray(0, until), 50),
    /ended before the answer was complete/,
  );
});

Deno.test("a stream of something else is an error", async () => {
  const bytes = new TextEncoder().encode("data: <html>\n\n");
  const { reader, writer } = begin("openai", "anthropic");
  const body = new TranslatedBody(new BytesBody(bytes), "text/event-stream", {
    reader,
    writer,
  });

  await assert.rejects(readAll(body), /Cannot translate the answer/);
});

async function list(): Promise<readonly string[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(directory));
    return entries.map(({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
