import assert from "node:assert/strict";
import {
  hasOutput,
  isTokenStream,
} from "../../../../src/llm/usage/first_output.ts";
import { bytesOf, events, namedEvents } from "../llm_responses.ts";

for (
  const [what, text] of [
    ["the start of a message", namedEvents({ type: "message_start" })],
    [
      "a start and a ping",
      namedEvents({ type: "content_block_start" }, { type: "ping" }),
    ],
    [
      "a response that is created",
      namedEvents(
        { type: "response.created" },
        { type: "response.in_progress" },
      ),
    ],
    ["a comment", ": keepalive\n\n"],
    ["the name of an event alone", "event: content_block_delta\n"],
    ["empty lines", "\n\n"],
  ] as const
) {
  Deno.test(`${what} is no output`, () => {
    assert.equal(hasOutput(bytesOf(text)), false);
  });
}

for (
  const [what, text] of [
    ["a delta", namedEvents({ type: "content_block_delta" })],
    [
      "a delta after a start",
      namedEvents({ type: "message_start" }, { type: "content_block_delta" }),
    ],
    ["a chunk of a chat", events({ choices: [{ delta: { content: "a" } }] })],
    ["a line of JSON", '{"response":"a"}\n'],
    ["much at once", `data: {"type":"ping"}${" ".repeat(70_000)}`],
  ] as const
) {
  Deno.test(`${what} is output`, () => {
    assert.equal(hasOutput(bytesOf(text)), true);
  });
}

Deno.test("streams are known by their content type", () => {
  assert(isTokenStream("text/event-stream; charset=utf-8"));
  assert(isTokenStream("application/x-ndjson"));
  assert(isTokenStream("application/vnd.amazon.eventstream"));
  assert(!isTokenStream("application/json"));
  assert(!isTokenStream(undefined));
});
