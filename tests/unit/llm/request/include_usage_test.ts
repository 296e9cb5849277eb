import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { readRequestFacts } from "../../../../src/llm/request/request_facts.ts";
import { withIncludeUsage } from "../../../../src/llm/request/include_usage.ts";
import { bytesOf } from "../llm_responses.ts";
import { fc } from "../../../harness/parsers/properties.ts";

async function changedBody(body: Uint8Array): Promise<Uint8Array | undefined> {
  const parts = withIncludeUsage(body, await readRequestFacts(body));
  return parts && Buffer.concat(parts);
}

for (
  const { name, body, changed } of [
    {
      name: "no stream_options",
      body: '{"model":"é","stream":true}',
      changed:
        '{"stream_options":{"include_usage":true},"model":"é","stream":true}',
    },
    {
      name: "whitespace everywhere",
      body: '\n{\n  "stream" : true ,\n  "n": 1\n}\n',
      changed:
        '\n{"stream_options":{"include_usage":true},\n  "stream" : true ,\n  "n": 1\n}\n',
    },
    {
      name: "other options",
      body: '{"stream":true,"stream_options":{"include_obfuscation":false}}',
      changed:
        '{"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}}',
    },
    {
      name: "empty options",
      body: '{"stream":true,"stream_options":{ }}',
      changed: '{"stream":true,"stream_options":{"include_usage":true }}',
    },
    {
      name: "options that are null",
      body: '{"stream":true,"stream_options": null }',
      changed: '{"stream":true,"stream_options": {"include_usage":true} }',
    },
    {
      name: "include_usage turned off",
      body: '{"stream_options":{"include_usage": false },"stream":true}',
      changed: '{"stream_options":{"include_usage": true },"stream":true}',
    },
    {
      name: "escaped keys",
      body:
        '{"str\\u0065am":true,"stream\\u005foptions":{"include\\u005fusage":false}}',
      changed:
        '{"str\\u0065am":true,"stream\\u005foptions":{"include\\u005fusage":true}}',
    },
    {
      name: "flags that only lenient servers accept",
      body: '{"stream":"True","stream_options":{"include_usage":0}}',
      changed: '{"stream":"True","stream_options":{"include_usage":true}}',
    },
    {
      name: "the same words in other places",
      body:
        '{"messages":[{"stream_options":{"include_usage":true}}],"x":"\\"stream\\":false","stream":true}',
      changed:
        '{"stream_options":{"include_usage":true},"messages":[{"stream_options":{"include_usage":true}}],"x":"\\"stream\\":false","stream":true}',
    },
  ]
) {
  Deno.test(`include_usage is set in a request with ${name}`, async () => {
    const body_ = await changedBody(bytesOf(body));

    assert(body_ !== undefined);
    assert.equal(new TextDecoder().decode(body_), changed);
    assert.deepEqual(JSON.parse(changed).stream_options.include_usage, true);
  });
}

for (
  const { name, body } of [
    { name: "is not streamed", body: '{"model":"a"}' },
    { name: "says stream: false", body: '{"stream":false}' },
    { name: "has a similar value", body: '{"stream":0}' },
    {
      name: "has usage set leniently",
      body: '{"stream":true,"stream_options":{"include_usage":1}}',
    },
    {
      name: "has usage set",
      body: '{"stream":true,"stream_options":{"include_usage":true}}',
    },
    {
      name: "has options of a wrong type",
      body: '{"stream":true,"stream_options":"x"}',
    },
    {
      name: "has include_usage of a wrong type",
      body: '{"stream":true,"stream_options":{"include_usage":"never"}}',
    },
    {
      name: "has duplicate options",
      body:
        '{"stream":true,"stream_options":{"include_usage":true},"stream_options":{"a":1}}',
    },
    {
      name: "has a list of options",
      body: '{"stream":true,"stream_options":[]}',
    },
    { name: "is truncated", body: '{"stream":true' },
    { name: "is two documents", body: '{"stream":true}{"stream":true}' },
    { name: "is empty", body: "" },
  ]
) {
  Deno.test(`a request that ${name} is not changed`, async () => {
    assert.equal(await changedBody(bytesOf(body)), undefined);
  });
}

Deno.test("setting include_usage changes nothing else in arbitrary requests", async () => {
  const extra = fc.dictionary(
    fc.string({ unit: "binary" }).filter((key) =>
      !/^(__proto__|stream.*)$/i.test(key)
    ),
    fc.jsonValue(),
  );
  const options = fc.constantFrom(
    ...[undefined, null, {}, { a: 1 }, { include_usage: false }],
    { b: [{}], include_usage: null },
  );
  const blanks = fc.constantFrom(0, 1, "\t");
  await fc.assert(
    fc.asyncProperty(
      extra,
      options,
      blanks,
      fc.boolean(),
      async (extra, options, blanks, first) => {
        const own = {
          stream: true,
          ...options !== undefined && { stream_options: options },
        };
        const request = first ? { ...own, ...extra } : { ...extra, ...own };
        const changed = await changedBody(
          bytesOf(JSON.stringify(request, null, blanks)),
        );

        assert.deepEqual(JSON.parse(new TextDecoder().decode(changed)), {
          ...JSON.parse(JSON.stringify(request)),
          stream_options: { ...options, include_usage: true },
        });
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("arbitrary bytes of a request are handled", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.json().map(bytesOf)),
      async (body) => {
        await changedBody(body);
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("a long body is not copied to request its usage", async () => {
  const body = bytesOf(`{"stream":true,"messages":["${"a".repeat(9000)}"]}`);

  const parts = withIncludeUsage(body, await readRequestFacts(body));

  assert.deepEqual(
    parts?.map(({ buffer }) => buffer === body.buffer),
    [true, false, true],
  );
});
