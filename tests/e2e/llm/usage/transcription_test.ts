/** Speech that is billed by its length. */
import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";
import { openTokenBudget } from "../../../harness/llm/token_budget.ts";
import { bytesOf, json, sse } from "../../../unit/llm/llm_responses.ts";

const text = "Hello";
const duration = {
  contentType: json,
  body: bytesOf(
    JSON.stringify({ text, usage: { type: "duration", seconds: 90 } }),
  ),
};

function connect(origin: string): OpenAI {
  return new OpenAI({ baseURL: `${origin}/v1`, apiKey: "none", maxRetries: 0 });
}

async function transcribe(origin: string, model: string) {
  return await connect(origin).audio.transcriptions.create({
    file: await toFile(new Uint8Array(100_000), "speech.wav"),
    model,
  });
}

Deno.test("a transcription by Whisper is charged its length, in money and as tokens", async () => {
  await using limited = await openTokenBudget(duration, {
    rateLimit: {
      local: [
        { tokens: 1_000_000, unit: "Hours" },
        { cost: { usd: 0.0151, unit: "Months" } },
      ],
    },
  });
  assert.equal((await transcribe(limited.origin, "whisper-1")).text, text);
  await limited.finished(1);

  const log = limited.gateway.accessLog.join("");
  // 90 seconds at 36 cents an hour.
  assert.match(log, / llm\.cost_usd="?0\.009"? /);
  assert.match(log, / gen_ai\.response\.model=whisper-1 /);
  assert.match(log, / gen_ai\.usage\.input_tokens=900 /);

  await transcribe(limited.origin, "whisper-1");
  await limited.finished(2);
  await assert.rejects(
    transcribe(limited.origin, "whisper-1"),
    OpenAI.RateLimitError,
  );
});

Deno.test("config.prices has prices of speech, and a model without one is charged a guard", async () => {
  const models = [{ model: "own-whisper", input: 0, output: 0, audioHour: 4 }];
  await using limited = await openTokenBudget(duration, {
    config: { config: { prices: { models } } },
    rateLimit: { local: [{ cost: { usd: 0.1375, unit: "Months" } }] },
  });
  await transcribe(limited.origin, "own-whisper");
  await transcribe(limited.origin, "unknown");
  await limited.finished(2);
  const log = limited.gateway.accessLog.join("");
  assert.match(log, / llm\.cost_usd="?0\.1"? /);
  // 10 cents and 3.75 cents are the whole budget.
  await assert.rejects(transcribe(limited.origin, "x"), OpenAI.RateLimitError);
  assert.match(limited.gateway.log.join(""), /A model has no price.*unknown/);
});

Deno.test("a transcription for tokens is charged them, streamed or not", async () => {
  const usage = {
    type: "tokens",
    input_tokens: 14,
    input_token_details: { text_tokens: 0, audio_tokens: 14 },
    output_tokens: 45,
    total_tokens: 59,
  };
  const events = [
    { type: "transcript.text.delta", delta: text },
    { type: "transcript.text.done", text, usage },
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`);
  for (
    const answer of [
      { contentType: json, body: bytesOf(JSON.stringify({ text, usage })) },
      { contentType: sse, body: bytesOf(events.join("")) },
    ]
  ) {
    await using limited = await openTokenBudget(answer);
    await fetch(`${limited.origin}/v1/audio/transcriptions`, {
      method: "POST",
      body: new FormData(),
    }).then((response) => response.body?.cancel());
    assert.equal(await limited.charged(59), 59);
  }
});

Deno.test("a transcription as plain text has no usage, and is not estimated by the size of the recording", async () => {
  await using limited = await openTokenBudget({
    contentType: "text/plain",
    body: bytesOf(text),
  }, {
    rateLimit: { local: [{ tokens: 1000, unit: "Hours", reserve: true }] },
  });
  await transcribe(limited.origin, "whisper-1");
  await limited.finished(1);
  assert.equal(await limited.answers("none"), 1);
  assert.match(
    limited.gateway.accessLog.join(""),
    / gen_ai\.usage\.uncounted=true /,
  );
});
