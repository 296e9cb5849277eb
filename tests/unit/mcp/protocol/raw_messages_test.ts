import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { allocateBytes } from "../../../../src/base/bytes.ts";
import { callWriter } from "../../../../src/mcp/protocol/raw_messages.ts";

const TOOLS = 1000;

Deno.test("tools whose calls are prepared keep no memory of the messages at the time", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  collect();
  const before = Deno.memoryUsage().external;

  const writers = Array.from({ length: TOOLS }, (_, index) => {
    for (let message = 0; message < 8; message++) allocateBytes(2048);
    return callWriter(`tool_${index}`);
  });

  collect();
  const kept = Deno.memoryUsage().external - before;
  assert.ok(kept < TOOLS * 2048, `${kept} bytes`);
  assert.equal(writers.length, TOOLS);
});
