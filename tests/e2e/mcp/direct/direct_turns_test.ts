/** Calls that begin as bytes, and go on as any other message because of what the server does; the tool runs once. */
import assert from "node:assert/strict";
import {
  eventsOf,
  startTracedGateway,
} from "../../../harness/gateway/traced_gateway.ts";
import { connect, messageOf, open, twoServers } from "./direct_client.ts";
import { eras, spelled, startServer } from "./direct_server.ts";

/** Returns how often a tool was called. */
function callsOf(bodies: readonly string[], tool: string): number {
  return bodies.filter((each) => JSON.parse(each).params.name === tool).length;
}

for (const era of eras) {
  Deno.test(`${era} calls and answers that are too long for the direct path arrive whole`, async () => {
    await using client = await open(era, "json");
    const args = { text: "d".repeat(200_000) };

    const response = await client.respond("huge", args);

    const { result } = messageOf(await response.text());
    assert.equal(result.content[0].text.length, 200_000);
    assert.equal(callsOf(client.bodies, "huge"), 1);
    const sent = JSON.parse(client.bodies.at(-1) ?? "");
    assert.deepEqual(sent.params.arguments, args);
  });

  Deno.test(`${era} clients get an answer that follows a notification in one stream`, async () => {
    await using client = await open(era, "sse");

    const text = await client.call("noted");

    assert.deepEqual(messageOf(text).result.content, JSON.parse(spelled));
    assert.equal(callsOf(client.bodies, "noted"), 1);
    // Clients of the modern era get only the log that they ask for.
    assert.equal(/"data":"soon"/.test(text), era === "legacy", text);
  });
}

Deno.test("a legacy client gets the beginning of a stream while a slow server works", async () => {
  await using client = await open("legacy", "json");

  const response = await client.respond("slow", {});
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  client.release();

  const text = await response.text();
  assert.match(text, /^id: \d+-0\nretry: /);
  assert.deepEqual(messageOf(text).result.content, JSON.parse(spelled));
  assert.equal(callsOf(client.bodies, "slow"), 1);
});

Deno.test("a server that has lost its session gets a new one, and the call once", async () => {
  await using client = await open("legacy", "json");

  const { result } = messageOf(await client.call("lost"));

  assert.deepEqual(result.content, JSON.parse(spelled));
  assert.equal(callsOf(client.bodies, "lost"), 1);
});

Deno.test("a server that loses each session fails the call, and names itself", async () => {
  await using client = await open("legacy", "json");

  const { result } = messageOf(await client.call("forgetful"));

  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /"a" does not know its own sessions/);
});

for (const era of eras) {
  Deno.test(`the trace of ${era} calls shows server and tool, also of those that pass as bytes`, async () => {
    await using stack = new AsyncDisposableStack();
    const { server, url } = startServer(era, "json");
    stack.defer(() => server.shutdown());
    const gateway = stack.use(await startTracedGateway(twoServers(url)));
    const client = await connect(gateway.origin, era);
    await client.call("plain");

    const shown = [];
    for (const tool of ["plain", "link"]) {
      const stream = await gateway.watch();
      await client.call(tool);
      shown.push(
        (await eventsOf(stream)).flatMap(({ message }) =>
          message.type === "policyEvent" && message.kind === "mcpServer"
            ? [message.details]
            : []
        ),
      );
    }

    const endpoint = new URL(url).host;
    const call = { server: "a", endpoint, status: 200 };
    assert.deepEqual(
      shown,
      ["plain", "link"].map((tool) => [{ tool, ...call }]),
    );
  });
}
