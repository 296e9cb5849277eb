// Streams events that contain the time at which they were written, in milliseconds since the epoch.
const EVENTS = 50;
const INTERVAL_MS = 10;
const encoder = new TextEncoder();

function timestamp(): number {
  return performance.timeOrigin + performance.now();
}

Deno.serve(
  { port: Number(Deno.args[0]), hostname: "127.0.0.1", onListen() {} },
  () => {
    let left = EVENTS;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (left-- === 0) return controller.close();
        await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
        controller.enqueue(encoder.encode(`data: ${timestamp()}\n\n`));
      },
    });
    return new Response(body, {
      headers: { "content-type": "text/event-stream" },
    });
  },
);
