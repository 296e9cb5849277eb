/**
 * HTTP/2 of a gateway with TLS against h2spec: `make interop-h2spec`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { createAuthority } from "../../harness/login/certificates.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";

const path = Deno.env.get("H2SPEC_BIN");
assert(path, "H2SPEC_BIN is not set: run `make interop-h2spec`");

Deno.test("gateway passes h2spec over TLS", async () => {
  const authority = await createAuthority();
  const tls = await authority.issueServer(["localhost", "127.0.0.1"]);
  await using upstream = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer("hello"));
    }
  });
  await using gateway = await startTestGateway({
    routes: [{ backends: [{ host: `127.0.0.1:${upstream.port}` }] }],
  }, { protocol: "HTTPS", tls });

  const { stdout, success } = await new Deno.Command(path, {
    args: ["-t", "-k", "-h", "127.0.0.1", "-p", String(gateway.port)],
    stdout: "piped",
  }).output();

  const report = new TextDecoder().decode(stdout);
  assert(success, report);
  assert.match(report, /145 tests, 145 passed, 0 skipped, 0 failed/);
});
