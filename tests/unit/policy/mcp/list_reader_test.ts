import assert from "node:assert/strict";
import { systemClock } from "../../../../src/base/clock.ts";
import { JsonProblem } from "../../../../src/base/json/json_ambiguity.ts";
import { ListReader } from "../../../../src/policy/mcp/list_reader.ts";
import { listNames } from "../../../../src/policy/mcp/mcp_lists.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const reader = new ListReader(listNames, systemClock);

/** Returns the text without the items whose identifier begins with `x`, and what was reported. */
async function filter(text: string) {
  const reports: string[] = [];
  const bytes = new TextEncoder().encode(text);
  const filtered = await reader.filter(
    bytes,
    (_, identifier) => !identifier.startsWith("x"),
    (list, listed, hidden) => reports.push(`${list} ${hidden}/${listed}`),
  );
  return {
    text: new TextDecoder().decode(filtered),
    isSame: filtered === bytes,
    reports,
  };
}

for (
  const [text, expected] of [
    [
      '{"result":{"tools":[{"name":"a"},{"name":"x"}],"nextCursor":"c"},"id":1}',
      '{"result":{"tools":[{"name":"a"}],"nextCursor":"c"},"id":1}',
    ],
    [
      '{ "result" : { "tools" : [ {"name":"x1"} , {"name":"a"} , {"name":"x2"} , {"name":"b"} ] } }',
      '{ "result" : { "tools" : [ {"name":"a"} , {"name":"b"} ] } }',
    ],
    [
      '{"result":{"prompts":[ {"name":"x"}, {"name":"x"} ],"_meta":{"k":1e400}}}',
      '{"result":{"prompts":[],"_meta":{"k":1e400}}}',
    ],
    [
      '{"result":{"resources":[{"uri":"x:/","name":"a"},{"uri":"a:/","name":"x"}]}}',
      '{"result":{"resources":[{"uri":"a:/","name":"x"}]}}',
    ],
    [
      '{"result":{"resourceTemplates":[{"uriTemplate":"x{a}"}]}}',
      '{"result":{"resourceTemplates":[]}}',
    ],
    [
      '[{"result":{"tools":[{"name":"x"}]}},{"method":"m"},7,{"result":{"prompts":[{"name":"a"},{"name":"x"}]}}]',
      '[{"result":{"tools":[]}},{"method":"m"},7,{"result":{"prompts":[{"name":"a"}]}}]',
    ],
    [
      '{"result":{"ttlMs":5,"cacheScope":"public","tools":[{"name":"a"}]}}',
      '{"result":{"ttlMs":5,"cacheScope":"private","tools":[{"name":"a"}]}}',
    ],
    [
      '{"method":"notifications/resources/updated","params":{"uri":"x:/"}}',
      "",
    ],
    [
      '[{"method":"notifications/resources/updated","params":{"uri":"x:/"}},{"method":"m"}]',
      '[{"method":"m"}]',
    ],
    [
      '{"method":"notifications/resources/updated","params":{"uri":7},"result":{"tools":[]}}',
      "",
    ],
    [
      '{"result":{"\\u0074ools":[{"n\\u0061me":"\\u0078"}]}}',
      '{"result":{"\\u0074ools":[]}}',
    ],
  ] as const
) {
  Deno.test(`the lists of ${text} become those of ${expected}`, async () => {
    assert.equal((await filter(text)).text, expected);
  });
}

for (
  const text of [
    '{"result":{"tools":[{"name":"a", "inputSchema":{"x":[1]}}],"cacheScope":"private"}}',
    '{"result":{"content":[{"type":"text","text":"x"}],"cacheScope":"public"}}',
    '{"result":{"structuredContent":{"tools":[{"name":"x"}]}}}',
    '{"params":{"tools":[{"name":"x"}]}}',
    '{"method":"notifications/resources/updated","params":{"uri":"a:/x"}}',
    '{"method":"notifications/message","params":{"uri":"x:/"}}',
    '{"error":{"code":1,"data":{"tools":[{"name":"x"}]}}}',
    '{"result":"tools"}',
    "null",
    "[]",
    " [ ]\n",
  ]
) {
  Deno.test(`${text} is the same bytes afterwards`, async () => {
    assert.equal((await filter(text)).isSame, true);
  });
}

Deno.test("a report says how many items of each list are hidden", async () => {
  const text =
    '{"result":{"tools":[{"name":"a"},{"name":"x"},{"name":"xx"}],"prompts":[]}}';

  assert.deepEqual((await filter(text)).reports, [
    "tools 2/3",
    "prompts 0/0",
  ]);
});

for (
  const text of [
    "",
    "not JSON",
    '{"result":{"tools":[{"name":"a"}',
    '{"result":{"tools":{"name":"a"}}}',
    '{"result":{"tools":null}}',
    '{"result":{"tools":"a"}}',
    '{"result":{"tools":["a"]}}',
    '{"result":{"tools":[null]}}',
    '{"result":{"tools":[[{"name":"a"}]]}}',
    '{"result":{"tools":[{"title":"a"}]}}',
    '{"result":{"tools":[{"name":1}]}}',
    '{"result":{"tools":[{"name":{"a":1}}]}}',
    '{"result":{"tools":[{"name":"a","name":"x"}]}}',
    '{"result":{"tools":[{"name":"a","Name":"x"}]}}',
    '{"result":{"tools":[],"tools":[{"name":"x"}]}}',
    '{"result":{"Tools":[{"name":"x"}]}}',
    '{"result":{},"result":{"tools":[{"name":"x"}]}}',
    '{"result":{"tools":[{"name":"\\ud800"}]}}',
    '\ufeff{"result":{"tools":[]}}',
    '[{"result":{"tools":[{"title":"a"}]}}]',
    `{"result":{"tools":[${'{"name":"a"},'.repeat(10_001)}{"name":"a"}]}}`,
  ]
) {
  Deno.test(`the lists of ${JSON.stringify(text.slice(0, 60))} cannot be read`, async () => {
    await assert.rejects(() => filter(text), JsonProblem);
  });
}

Deno.test("the rest of a list is the same as with JSON.parse and a filter, byte for byte", async () => {
  const item = fc.record({
    name: fc.oneof(fc.constantFrom("a", "x", "xa", "é"), fc.string()),
    extra: fc.jsonValue(),
  }).map((value) => JSON.stringify(value).toWellFormed())
    .filter((text) => !/\\ud[89a-f]/i.test(text));
  const blank = fc.constantFrom("", " ", "\n\t");
  await fc.assert(
    fc.asyncProperty(
      fc.array(item, { maxLength: 6 }),
      blank,
      blank,
      async (items, before, after) => {
        const list = items.map((text) => before + text + after).join();
        const text = `{"jsonrpc":"2.0","result":{"tools":[${list}],"n":1}}`;
        const value = JSON.parse(text);
        const kept = items.filter((item) =>
          !JSON.parse(item).name.startsWith("x")
        );
        value.result.tools = kept.map((item) => JSON.parse(item));

        const filtered = await filter(text);

        assert.deepEqual(JSON.parse(filtered.text), value);
        assert.equal(filtered.isSame, kept.length === items.length);
        for (const item of kept) assert.ok(filtered.text.includes(item));
      },
    ),
  );
});

Deno.test("others go on while a hostile list is read and judged", async () => {
  const items = Array.from(
    { length: 9900 },
    (_, i) => `{"name":"t${i}","d":"${"d".repeat(950)}"}`,
  );
  const text = `{"result":{"tools":[${items}]}}`;
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  try {
    const bytes = new TextEncoder().encode(text);
    assert.ok(bytes.length > 8 << 20);
    await reader.filter(bytes, () => true, () => {});
  } finally {
    clearInterval(timer);
  }

  assert.ok(turns >= 8, `others had ${turns} turns`);
});
