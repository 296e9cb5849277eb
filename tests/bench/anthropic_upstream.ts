// Acts as Anthropic: a short answer, or a stream of 500 events.
const EVENTS = 500;
const head = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "claude" },
  ...{ stop_reason: null, stop_sequence: null },
};
const usage = { input_tokens: 10, output_tokens: 20 };
const answer = JSON.stringify({
  ...{ ...head, stop_reason: "end_turn", usage },
  content: [{ type: "text", text: "some words of a response" }],
});
const events = [
  { type: "message_start", message: { ...head, content: [], usage } },
  {
    type: "content_block_start",
    index: 0,
    content_block: { type: "text", text: "" },
  },
  ...Array.from({ length: EVENTS }, () => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: "some words" },
  })),
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage,
  },
  { type: "message_stop" },
].map((event) =>
  new TextEncoder().encode(
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  )
);

function streamed(): ReadableStream<Uint8Array<ArrayBuffer>> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const event = events[next++];
      if (event === undefined) controller.close();
      else controller.enqueue(event.slice());
    },
  });
}

Deno.serve(
  { port: Number(Deno.args[0]), hostname: "127.0.0.1", onListen() {} },
  async (request) => {
    const { stream } = await request.json();
    const type = stream === true ? "text/event-stream" : "application/json";
    return new Response(stream === true ? streamed() : answer, {
      headers: { "content-type": type },
    });
  },
);
