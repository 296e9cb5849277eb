import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { awaitFirstEvent } from "../../../../src/proxy/failover/first_event.ts";
import { ChunkedBody } from "../../../harness/clients/chunked_body.ts";

/** Returns a stream in one piece, after its first event was awaited. */
async function awaited(...chunks: readonly string[]): Promise<string> {
  const response = {
    status: 200,
    headers: new HeaderList(),
    body: new ChunkedBody(...chunks),
  };
  await awaitFirstEvent(response, new Cancellation());
  let text = "";
  for (;;) {
    const chunk = await response.body.read();
    if (chunk === undefined) return text;
    text += new TextDecoder().decode(chunk);
  }
}

for (
  const chunks of [
    ["event: error\ndata: {}\n\n"],
    ["eve", "nt: ", "error\n"],
    ['data: {"error":{"code":503}}\n\n'],
    ['data: {"error"', ': "overloaded"}\n\n'],
    ['data:{"error": {"code":503}}\n\n'],
    [": OPENROUTER PROCESSING\n\n", ": more\n", "\nevent: error\n"],
  ]
) {
  Deno.test(`a stream that begins with ${JSON.stringify(chunks)} has failed`, async () => {
    await assert.rejects(awaited(...chunks), /first event .* is an error/);
  });
}

for (
  const chunks of [
    ["event: errands\n", "\n"],
    ["e", "vent: ping\n\n"],
    [": a comment", " in pieces\r\n\r\n", "data: {}\n\n"],
    [`: ${"long ".repeat(20_000)}`, "\n\n"],
    ['data: {"error":', "null}\n\n"],
    ['data: {"id":1,"error":{}}\n\n'],
  ]
) {
  Deno.test(`a stream that begins with ${JSON.stringify(chunks)} passes whole`, async () => {
    assert.equal(await awaited(...chunks), chunks.join(""));
  });
}

Deno.test("a stream that ends inside the start of its first event has failed", async () => {
  await assert.rejects(awaited("event: err"), /ended before its first event/);
  await assert.rejects(awaited(": wait\n\n"), /ended before its first event/);
});
