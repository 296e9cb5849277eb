import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { PassThrough } from "node:stream";
import tls from "node:tls";
import { NodeTransport } from "../../../src/http/node_transport.ts";
import { writeAll } from "../../../src/http/transport.ts";
import { createAuthority } from "../../harness/login/certificates.ts";

const authority = await createAuthority();
const pair = await authority.issueServer(["localhost", "127.0.0.1"]);

/** Creates a connected pair of TLS sockets. */
async function connect(): Promise<
  { client: tls.TLSSocket; server: NodeTransport; end: () => Promise<void> }
> {
  const accepted = Promise.withResolvers<tls.TLSSocket>();
  const listener = tls.createServer(
    { ...pair, allowHalfOpen: true },
    accepted.resolve,
  );
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  if (address === null || typeof address === "string") throw new TypeError();
  const client = tls.connect({
    socket: net.connect({
      port: address.port,
      host: "127.0.0.1",
      allowHalfOpen: true,
    }),
    servername: "localhost",
    ca: authority.cert,
  });
  client.on("error", () => {});
  await once(client, "secureConnect");
  const server = new NodeTransport(await accepted.promise);
  return {
    client,
    server,
    end: async () => {
      server.close();
      if (!client.destroyed) {
        client.destroy();
        await once(client, "close");
      }
      listener.close();
      await once(listener, "close");
    },
  };
}

async function readText(transport: NodeTransport): Promise<string | null> {
  const into = new Uint8Array(64);
  const count = await transport.read(into);
  return count === null
    ? null
    : new TextDecoder().decode(into.subarray(0, count));
}

Deno.test("NodeTransport reads no more than the buffer holds", async () => {
  const { client, server, end } = await connect();
  client.write("hello");

  const into = new Uint8Array(2);
  let text = "";
  while (text.length < 5) {
    const count = await server.read(into);
    text += new TextDecoder().decode(into.subarray(0, count ?? 0));
  }

  assert.equal(text, "hello");
  await end();
});

Deno.test("NodeTransport returns null at the end and can still write", async () => {
  const { client, server, end } = await connect();
  client.end("bye");

  assert.equal(await readText(server), "bye");
  assert.equal(await readText(server), null);
  assert.equal(await readText(server), null);
  const [received] = await Promise.all([
    once(client, "data"),
    writeAll(server, new TextEncoder().encode("answer")),
  ]);
  assert.equal(String(received[0]), "answer");
  await end();
});

Deno.test("NodeTransport half-closes", async () => {
  const { client, server, end } = await connect();
  client.resume();

  await Promise.all([once(client, "end"), server.closeWrite()]);
  client.write("late");

  assert.equal(await readText(server), "late");
  await end();
});

Deno.test("NodeTransport delivers what arrives before the first read, and the end", async () => {
  const { client, server, end } = await connect();
  const large = "x".repeat(40_000);
  client.write(large);
  client.end("end");
  await once(client, "finish");

  const into = new Uint8Array(1000);
  let text = "";
  for (;;) {
    const count = await server.read(into);
    if (count === null) break;
    text += new TextDecoder().decode(into.subarray(0, count));
  }

  assert.equal(text, `${large}end`);
  await end();
});

Deno.test("NodeTransport reports a connection that is reset", async () => {
  const { client, server, end } = await connect();

  const reading = server.read(new Uint8Array(64));
  client.destroy(new Error("gone"));
  await reading.catch(() => null);
  server.close();

  await assert.rejects(server.write(new Uint8Array(1)), Error);
  await end();
});

Deno.test("NodeTransport ends a waiting read when it is closed", async () => {
  const { server, end } = await connect();

  const reading = readText(server);
  server.close();

  assert.equal(await reading, null);
  await end();
});

Deno.test("NodeTransport throws the error of the stream", async () => {
  const stream = new PassThrough();
  const transport = new NodeTransport(stream);

  const reading = readText(transport);
  stream.destroy(new Error("reset by peer"));

  await assert.rejects(reading, /reset by peer/);
  await assert.rejects(transport.write(new Uint8Array(1)), /reset by peer/);
});

Deno.test("NodeTransport applies back-pressure to the writer", async () => {
  const { client, server, end } = await connect();
  let written = 0;
  const total = 32 * 1024 * 1024;
  const block = new Uint8Array(256 * 1024);
  const writing = (async () => {
    while (written < total) {
      await writeAll(server, block);
      written += block.length;
    }
    await server.closeWrite();
  })();
  await once(client, "readable");
  const early = written;
  let received = 0;
  client.on("data", (bytes: Uint8Array) => received += bytes.length);
  client.resume();
  await once(client, "end");
  await writing;

  assert.ok(early < total);
  assert.ok(received === total);
  await end();
});
