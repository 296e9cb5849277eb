/** Requests that try to reach a backend as somebody else than the authorizer has decided about. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startAuthorizerService } from "../../harness/servers/authorizer_service.ts";
import { TestServer } from "../../harness/servers/echo_server.ts";

/** A gateway with an authorizer; returns the status and what the backend got. */
async function setUp(extAuthz: Readonly<Record<string, unknown>>) {
  await using opening = new AsyncDisposableStack();
  const upstream = opening.use(await TestServer.start());
  const gateway = opening.use(
    await startTestGateway({
      routes: [{
        policies: { extAuthz: { timeout: "5s", ...extAuthz } },
        backends: [{ host: `127.0.0.1:${upstream.port}` }],
      }],
    }),
  );
  const open = opening.move();
  return {
    send: async (init: RequestInit) => {
      const response = await fetch(gateway.origin, init);
      const text = await response.text();
      const { headers = {} } = response.status === 200 ? JSON.parse(text) : {};
      return { status: response.status, headers: new Headers(headers) };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  return await new Response(stream).bytes();
}

Deno.test("no spelling of a header that the authorizer sets comes from a client", async () => {
  await using service = await startAuthorizerService();
  service.reply = () => ({
    status: { code: 0 },
    ok_response: {
      headers: [{ header: { key: "x-team", value: "blue" } }],
      headers_to_remove: ["x-secret"],
    },
  });
  await using site = await setUp({
    grpc: { host: `127.0.0.1:${service.port}` },
    headersToBackend: ["x-user-id"],
  });

  const { status, headers } = await site.send({
    headers: {
      "X-User-Id": "mallory",
      "X_User_Id": "mallory",
      "x-user_id": "mallory",
      "x_team": "red",
      "X_Secret": "1",
      "x_other": "kept",
    },
  });

  assert.equal(status, 200);
  assert.deepEqual(
    [...headers].filter(([name]) => /^x[-_](?!forwarded|request)/.test(name)),
    [["x-team", "blue"], ["x_other", "kept"]],
  );
});

Deno.test("an authorizer gets the encoding of a body, as the backend does", async () => {
  const body = await gzip("planted");
  const encodings: (string | null | undefined)[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      encodings.push(request.headers.get("content-encoding"));
      return new Response();
    },
  );
  await using service = await startAuthorizerService();
  service.reply = ({ headers }) => {
    encodings.push(headers["content-encoding"]);
    return { status: { code: 0 } };
  };
  const bodyToExtAuth = { maxRequestBytes: 1024 };
  await using byHttp = await setUp({
    http: { host: `127.0.0.1:${server.addr.port}` },
    bodyToExtAuth,
  });
  await using byGrpc = await setUp({
    grpc: { host: `127.0.0.1:${service.port}` },
    headersToExtAuth: ["x-a"],
    bodyToExtAuth,
  });
  const headers = { "content-encoding": "gzip", "content-type": "text/plain" };

  for (const site of [byHttp, byGrpc]) {
    const sent = await site.send({ method: "POST", headers, body });
    assert.equal(sent.headers.get("content-encoding"), "gzip");
  }

  assert.deepEqual(encodings, ["gzip", "gzip"]);
});
