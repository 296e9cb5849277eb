import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { gatewayApiVersion } from "../../../../src/api/schema/group.ts";
import { createAuthority } from "../../../harness/login/certificates.ts";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import {
  callMcp,
  guardedRoute,
  startGuardedServer,
} from "../../../harness/servers/guarded_server.ts";
import { NodeUpstream } from "../../../harness/servers/node_upstreams.ts";
import { answer, RawUpstream } from "../../../harness/clients/raw_upstream.ts";
import { startReloadableGateway } from "../../../harness/gateway/reloadable_gateway.ts";
import { createTokenIssuer, jwksOf } from "../../../harness/login/tokens.ts";

const alice = await createTokenIssuer({ issuer: "https://idp.example/" });
const jwks = jwksOf(alice);
const mebibyte = "a".repeat(1024 * 1024);

for (
  const [what, reply, problem] of [
    [
      "compresses them unexpectedly",
      compressed(jwks),
      'expected no content coding, got "gzip"',
    ],
    [
      "sends too much",
      answer(`${mebibyte}a`),
      "expected at most 1048576 bytes",
    ],
    [
      "does not terminate them",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n100000\r\n${mebibyte}\r\n1\r\na`,
      "expected at most 1048576 bytes",
    ],
    [
      "truncates them",
      "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{",
      "the connection was closed inside it",
    ],
    ["does not speak HTTP", "\0\x01\x02\r\n\r\n", "Cannot read the HTTP"],
    ["shows a page", answer("<html>"), "not JSON"],
    ["sends null", answer("null"), "expected"],
    ["sends a list", answer("[]"), "expected"],
    [
      "sends nothing",
      "HTTP/1.1 204 No Content\r\n\r\n",
      "expected status 200, got 204",
    ],
    ["closes without a response", "", "closed before a response"],
  ] as const
) {
  Deno.test(`keys and metadata of a provider that ${what} are rejected: the server stays protected and the log reports why`, async () => {
    await using server = startGuardedServer();
    await using idp = new RawUpstream(async (connection) => {
      await connection.request();
      await connection.send(reply);
    });
    const origin = `http://127.0.0.1:${idp.port}`;
    await using gateway = await startReloadableGateway([
      guardedRoute(server, {
        issuer: `${origin}/v1/apps/agentic/P/S`,
        jwks: { url: `${origin}/jwks.json` },
        mcp: { provider: "IdpB" },
      }),
    ]);
    const token = await alice.sign({ iss: `${origin}/v1/apps/agentic/P/S` });

    const { status, retryAfter } = await callMcp(gateway, token);
    const metadata = await fetchRaw(
      `${gateway.origin}/.well-known/oauth-authorization-server/mcp`,
    );

    assert.equal(status, 503);
    assert.match(retryAfter ?? "", /^[12]$/);
    assert.equal(metadata.status, 503);
    assert.equal(metadata.headers["access-control-allow-origin"], "*");
    assert.deepEqual(server.reached, []);
    for (const document of ["keys", "authorization server metadata"]) {
      const line = gateway.log.find((line) =>
        line.includes(`\tCannot fetch ${document} source=${origin}/`)
      );
      assert.ok(line !== undefined, `no log line about the ${document}`);
      assert.ok(line.replaceAll('\\"', '"').includes(problem), line);
    }
  });
}

function compressed(text: string): Uint8Array {
  const body = gzipSync(text);
  const head = new TextEncoder().encode(
    `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  return new Uint8Array([...head, ...body]);
}

Deno.test("keys come from a provider that supports only HTTP/2", async () => {
  const authority = await createAuthority();
  await using server = startGuardedServer();
  await using idp = await NodeUpstream.http2OverTls((stream) => {
    stream.respond({ ":status": 200, "content-type": "application/json" });
    stream.end(jwks);
  }, await authority.issueServer(["idp.example"]));
  await using gateway = await startReloadableGateway([
    guardedRoute(server, {
      issuer: alice.issuer,
      jwks: {
        remote: { backendRef: { name: "idp" }, jwksPath: "/jwks.json" },
      },
      more: {
        backends: [{
          name: "idp",
          static: { host: "127.0.0.1", port: idp.port },
        }],
      },
    }),
    {
      apiVersion: gatewayApiVersion,
      kind: "BackendTLSPolicy",
      metadata: { name: "idp" },
      spec: {
        targetRefs: [{ name: "idp" }],
        validation: {
          hostname: "idp.example",
          caCertificateRefs: [{ inline: authority.cert }],
        },
      },
    },
  ]);

  assert.equal((await callMcp(gateway, await alice.sign())).status, 200);
});
