// Returns the same stream of LLM events for every request: 1 MiB in chunks of 16 KiB.
const encoder = new TextEncoder();
const delta = {
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: "some words of a response" },
};
const event = `event: ${delta.type}\ndata: ${JSON.stringify(delta)}\n\n`;
const last = {
  type: "message_delta",
  usage: { input_tokens: 10, output_tokens: 20 },
};
const piece = encoder.encode(event.repeat(Math.ceil(16384 / event.length)));
const end = encoder.encode(
  `event: ${last.type}\ndata: ${JSON.stringify(last)}\n\n`,
);

Deno.serve(
  { port: Number(Deno.args[0]), hostname: "127.0.0.1", onListen() {} },
  () => {
    let left = 64;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) return controller.enqueue(piece.slice());
        controller.enqueue(end);
        controller.close();
      },
    });
    return new Response(body, {
      headers: { "content-type": "text/event-stream" },
    });
  },
);
