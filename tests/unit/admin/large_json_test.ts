import assert from "node:assert/strict";
import { largeJson } from "../../../admin/http/large_json.ts";
import { fc } from "../../harness/parsers/properties.ts";

for (const isCompact of [false, true]) {
  const kind = isCompact ? "a compact" : "an indented";
  Deno.test(`largeJson writes the same as ${kind} JSON.stringify`, async () => {
    const member = fc.oneof(
      fc.jsonValue(),
      fc.array(fc.jsonValue()),
      fc.constant(undefined),
    );
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), member), async (value) => {
        const response = await largeJson(value, isCompact);

        const text = await response.text();
        assert.equal(
          text,
          JSON.stringify(value, null, isCompact ? 0 : 2) + "\n",
        );
        assert.equal(
          response.headers.get("content-length"),
          String(new TextEncoder().encode(text).length),
        );
      }),
      { numRuns: 200 },
    );
  });
}

Deno.test("largeJson yields to the event loop while it serializes", async () => {
  let turns = 0;
  let isRead = false;
  const turn = () => {
    turns++;
    if (!isRead) setImmediate(turn);
  };
  setImmediate(turn);
  const list = Array.from({ length: 20_000 }, (_, id) => ({ id, a: "aaaa" }));

  const text = await (await largeJson({ list })).text();
  isRead = true;

  // At least once per 256 KiB.
  assert(text.length > 2 ** 19);
  assert(turns >= Math.floor(text.length / 300_000), `${turns} turns`);
});
