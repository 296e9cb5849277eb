import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { createUsageScanner } from "../../../../src/llm/usage/usage_scanner.ts";
import {
  awsEventStream,
  awsMessage,
  bytesOf,
  cut,
  events,
  everyByte,
  json,
  scan,
  sse,
} from "../llm_responses.ts";
import { streamedResponses } from "../streamed_responses.ts";
import { fc } from "../../../harness/parsers/properties.ts";

for (const response of streamedResponses) {
  const { name, contentType, body, input, output, model } = response;
  const expected = { input, output, total: input + output, model };
  const summary = (pieces: readonly Uint8Array[], api = true) => {
    const usage = scan(contentType, pieces, api ? response.api : undefined);
    assert.equal(usage?.estimated, false);
    return {
      input: usage.inputTokens,
      output: usage.outputTokens,
      total: usage.totalTokens,
      model: usage.responseModel,
    };
  };

  Deno.test(`usage of ${name} is the same for a stream split at any byte`, () => {
    for (let at = 0; at <= body.length; at++) {
      assert.deepEqual(summary(cut(body, [at])), expected, `cut at ${at}`);
    }
    assert.deepEqual(summary(everyByte(body)), expected);
  });

  Deno.test(`usage of ${name} is the same in any chunking`, () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(body.length), { maxLength: 40 }),
        (positions) =>
          assert.deepEqual(summary(cut(body, positions)), expected),
      ),
      { numRuns: 50 },
    );
  });

  Deno.test(`usage of ${name} is recognized by its shape alone`, () => {
    assert.deepEqual(summary([body], false), expected);
  });
}

const sseResponses = streamedResponses.filter((each) =>
  each.contentType.startsWith(sse)
);
for (const [name, lineEnd] of [["CRLF", "\r\n"], ["CR", "\r"]] as const) {
  Deno.test(`usage is found in events with ${name} split at any byte`, () => {
    for (const { contentType, body, input, api } of sseResponses) {
      const text = new TextDecoder().decode(body).replaceAll("\n", lineEnd);
      const bytes = bytesOf(text);
      for (let at = 0; at <= bytes.length; at++) {
        const usage = scan(contentType, cut(bytes, [at]), api);
        assert.equal(usage?.inputTokens, input, `cut at ${at}`);
      }
    }
  });
}

const usageText =
  '{"usage":\ndata: {"prompt_tokens":5,\ndata:"completion_tokens":\ndata:6}}';
for (
  const { name, text } of [
    { name: "after a byte order mark", text: "\uFEFF" + events(usage(5, 6)) },
    { name: "over several lines of data", text: `data: ${usageText}\n\n` },
    {
      name: "between comments and other fields",
      text: `: keep {alive\nid: 1\nretry: 5\n${events(usage(5, 6))}: x\n\n`,
    },
    {
      name: "without a space before it",
      text: 'data:{"usage":{"prompt_tokens":5,"completion_tokens":6}}\n\n',
    },
    {
      name: "in an unterminated event",
      text: `data: ${JSON.stringify(usage(5, 6))}`,
    },
    { name: "in the last of several", text: events(usage(1, 1), usage(5, 6)) },
    {
      name: "before a line that is not JSON",
      text: `${events(usage(5, 6))}data: "usage" {{{\n\n`,
    },
  ]
) {
  Deno.test(`usage is found ${name}`, () => {
    for (const pieces of [[bytesOf(text)], everyByte(bytesOf(text))]) {
      assert.equal(scan(sse, pieces)?.totalTokens, 11);
    }
  });
}

Deno.test("usage is found in an event that is too long to buffer", () => {
  const response = {
    output: "x".repeat(700_000),
    usage: { input_tokens: 5, output_tokens: 6, total_tokens: 11 },
  };
  const body = bytesOf(
    events({ type: "response.completed", response }) + events({ type: "end" }),
  );
  const positions = Array.from({ length: 200 }, (_, index) => index * 4999);

  assert.equal(scan(sse, cut(body, positions))?.totalTokens, 11);
});

Deno.test("usage after an event that is too long is found", () => {
  const body = bytesOf(events({ a: "x".repeat(700_000) }, usage(5, 6)));

  assert.equal(scan(sse, [body])?.totalTokens, 11);
  assert.equal(scan(sse, cut(body, [300_000, 700_020]))?.totalTokens, 11);
});

Deno.test("generated text that looks like usage is ignored", () => {
  const fake = '"usage":{"prompt_tokens":9999}';
  const document = {
    choices: [{ message: { content: fake, usage: usage(900, 900).usage } }],
    nested: { usage: { prompt_tokens: 9999 } },
    list: [usage(700, 700)],
    ...usage(5, 6),
    after: { args: { usageMetadata: { promptTokenCount: 9999 } } },
    text: fake,
  };

  for (
    const pieces of [
      [JSON.stringify(document)],
      everyByte(bytesOf(JSON.stringify(document))),
    ]
  ) {
    assert.equal(scan(json, pieces)?.totalTokens, 11);
  }
  assert.equal(scan(sse, [events(document)])?.totalTokens, 11);
});

Deno.test("usage is found in JSON with escaped keys, whitespace and a byte order mark", () => {
  const text =
    '\uFEFF \r\n{ "a\\"b" : "\\\\" , "us\\u0061ge" :\t{ "prompt_tokens" : 5 , "completion_tokens" : 6 } }\n';

  assert.equal(scan(json, [text])?.totalTokens, 11);
});

Deno.test("escaped quotes in JSON do not end a string, split at any byte", () => {
  const body = bytesOf(
    '{"a\\"":"}\\"","b":"\\\\","c":"{\\"","usage":{"prompt_tokens":11}}',
  );

  for (let at = 0; at <= body.length; at++) {
    assert.equal(scan(json, cut(body, [at]))?.totalTokens, 11, `cut at ${at}`);
  }
  assert.equal(scan(json, everyByte(body))?.totalTokens, 11);
});

for (
  const contentType of [
    "application/json; charset=utf-8",
    "Application/JSON",
    "application/vnd.api+json",
    "application/problem+json",
    "application/jsonl",
  ]
) {
  Deno.test(`a response of type ${contentType} is scanned`, () => {
    assert.equal(
      scan(contentType, [JSON.stringify(usage(5, 6))])?.totalTokens,
      11,
    );
  });
}

for (
  const contentType of [undefined, "", "text/html", "image/png", "audio/mpeg"]
) {
  Deno.test(`a response of type ${contentType} has no scanner`, () => {
    assert.equal(createUsageScanner({ api: "chat", contentType }), undefined);
  });
}

for (
  const { name, contentType, body } of [
    { name: "empty JSON", contentType: json, body: "" },
    { name: "JSON cut short", contentType: json, body: '{"usage":{"prompt_' },
    { name: "usage that is null", contentType: json, body: '{"usage":null}' },
    { name: "usage that is a list", contentType: json, body: '{"usage":[1]}' },
    {
      name: "usage that is a string",
      contentType: json,
      body: '{"usage":"9"}',
    },
    { name: "usage without counts", contentType: json, body: '{"usage":{}}' },
    {
      name: "usage over 16 KiB",
      contentType: json,
      body: JSON.stringify({
        usage: { ...usage(5, 6).usage, x: "x".repeat(20_000) },
      }),
    },
    {
      name: "brackets that do not match",
      contentType: json,
      body: ']]}}{"a":[}',
    },
    { name: "a million brackets", contentType: json, body: "[".repeat(1e6) },
    { name: "no events", contentType: sse, body: ": keep alive\n\n" },
    {
      name: "a stream without usage",
      contentType: sse,
      body: events({ a: 1 }),
    },
    {
      name: "text as an event stream",
      contentType: awsEventStream,
      body: "data: {}",
    },
  ]
) {
  Deno.test(`usage is unknown for ${name}`, () => {
    assert.equal(scan(contentType, [body]), undefined);
  });
}

const metadata = awsMessage("metadata", {
  usage: { inputTokens: 5, outputTokens: 6, totalTokens: 11 },
});

Deno.test("an event stream is parsed up to its first corrupt byte", () => {
  for (let at = 0; at < metadata.length; at++) {
    const damaged = new Uint8Array(metadata);
    damaged[at] = (damaged[at] ?? 0) ^ 0x10;
    assert.equal(scan(awsEventStream, [damaged, metadata]), undefined, `${at}`);
  }
  assert.equal(scan(awsEventStream, [metadata])?.totalTokens, 11);
});

Deno.test("an event stream is parsed up to headers that are longer than their message", () => {
  const message = Buffer.alloc(16);
  message.writeUInt32BE(16, 0);
  message.writeUInt32BE(100, 4);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  message.writeUInt32BE(crc32(message.subarray(0, 12)), 12);

  assert.equal(scan(awsEventStream, [message, metadata]), undefined);
});

Deno.test("an event stream is parsed up to a message over 1 MiB", () => {
  const long = awsMessage("contentBlockDelta", { text: "x".repeat(1 << 20) });

  assert.equal(scan(awsEventStream, [long, metadata]), undefined);
});

Deno.test("arbitrary bytes in any format yield a result", () => {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.json().map(bytesOf),
    fc.array(
      fc.constantFrom(
        ...['"usage"', ":", "{", "}", "[", "]", ",", '"', "\\", "\n", "\r"],
        ...["data:", "input_tokens", "1e999", "-5", "null", '"prompt_tokens"'],
      ),
      { maxLength: 60 },
    ).map((words) => bytesOf(words.join(""))),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(json, sse, awsEventStream),
      fc.array(noise, { maxLength: 6 }),
      (contentType, pieces) => {
        const usage = scan(contentType, pieces);
        const total = usage?.totalTokens ?? 0;
        assert(Number.isSafeInteger(total) && total >= 0);
      },
    ),
    { numRuns: 2000 },
  );
});

function usage(input: number, output: number) {
  return { usage: { prompt_tokens: input, completion_tokens: output } };
}
