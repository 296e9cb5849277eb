import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
// @ts-types="../../harness/parsers/grpc_js.d.ts"
import * as grpc from "@grpc/grpc-js";
import { createAuthority } from "../../harness/login/certificates.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

/** A method whose messages are bytes. */
function method(path: string, streams: boolean): grpc.MethodDefinition {
  return {
    path,
    requestStream: streams,
    responseStream: streams,
    requestSerialize: (message) => message,
    requestDeserialize: (bytes) => bytes,
    responseSerialize: (message) => message,
    responseDeserialize: (bytes) => bytes,
  };
}

const service = {
  Unary: method("/test.Echo/Unary", false),
  Chat: method("/test.Echo/Chat", true),
};
const EchoClient = grpc.makeGenericClientConstructor(service, "test.Echo");

/** Echoes; a message `fail` ends a call with a status, and the trailers of each call name it. */
async function startEcho(): Promise<{ server: grpc.Server; port: number }> {
  const server = new grpc.Server();
  server.addService(service, {
    Unary(call: grpc.Call, done: grpc.UnaryDone) {
      const trailers = new grpc.Metadata();
      trailers.set("x-call", "unary");
      const text = String(call.request);
      if (text === "fail") {
        done({ code: 9, details: "not now" }, null, trailers);
      } else done(null, call.request, trailers);
    },
    Chat(call: grpc.Call) {
      call.on("data", (message: Buffer) => call.write(message));
      call.on("end", () => call.end());
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(
      "127.0.0.1:0",
      grpc.ServerCredentials.createInsecure(),
      (error, port) => error === null ? resolve(port) : reject(error),
    )
  );
  return { server, port };
}

for (const tls of [false, true]) {
  Deno.test(`gateway carries gRPC calls of grpc-js over ${tls ? "TLS" : "plain TCP"}: unary, status, trailers, both ways at once`, async () => {
    const { server, port } = await startEcho();
    await using gateway = await startTestGateway({
      backends: [{
        name: "grpc",
        static: { host: "127.0.0.1", port },
        protocol: "HTTP2",
      }],
      routes: [{ backends: [{ backend: "grpc" }] }],
    }, tls ? { protocol: "HTTPS", tls: own } : {});
    const client = new EchoClient(
      `localhost:${gateway.port}`,
      tls
        ? grpc.credentials.createSsl(Buffer.from(authority.cert))
        : grpc.credentials.createInsecure(),
    );
    try {
      const large = Buffer.alloc(300_000, "x");
      assert.deepEqual(await unary(client, Buffer.from("hi")), {
        reply: Buffer.from("hi"),
        trailer: ["unary"],
      });
      assert.deepEqual((await unary(client, large)).reply, large);
      await assert.rejects(
        unary(client, Buffer.from("fail")),
        { code: 9, details: "not now" },
      );
      assert.deepEqual(await chat(client, ["a", "b", "c"]), ["a", "b", "c"]);
    } finally {
      client.close();
      server.forceShutdown();
    }
  });
}

function unary(
  client: grpc.GenericClient,
  message: Buffer,
): Promise<{ reply: unknown; trailer: unknown }> {
  return new Promise((resolve, reject) => {
    let reply: unknown;
    const call = client.Unary(message, (error, value) => {
      if (error) reject(error);
      reply = value;
    });
    call.on("status", ({ metadata }: grpc.CallStatus) =>
      // The callback comes in the same turn, behind the status.
      setTimeout(
        () => resolve({ reply, trailer: metadata.get("x-call") }),
        0,
      ));
  });
}

/** Sends each message when the one before has come back. */
async function chat(
  client: grpc.GenericClient,
  messages: readonly string[],
): Promise<string[]> {
  const call = client.Chat();
  const received: string[] = [];
  const ended = new Promise((resolve, reject) => {
    call.on("end", resolve);
    call.on("error", reject);
  });
  for (const message of messages) {
    const next = new Promise<Buffer>((resolve) => call.once("data", resolve));
    call.write(Buffer.from(message));
    received.push(String(await next));
  }
  call.end();
  await ended;
  return received;
}
