import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  REQUEST_CASES,
  type RequestCase,
} from "../../fixtures/http/requests.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { TestServer } from "../../harness/servers/echo_server.ts";
import { RawClient } from "../../harness/clients/raw_client.ts";

const PROBE = "GET /probe HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n";
const authority = await createAuthority();
const pair = await authority.issueServer(["localhost"]);

for (const engine of ["plain", "tls"] as const) {
  Deno.test(`HTTP server over ${engine} handles unusual requests correctly`, async (t) => {
    const tls = engine === "tls"
      ? { certificates: [pair] as const }
      : undefined;
    await using server = await TestServer.start({}, tls);
    const ca = tls && authority.cert;

    for (const sample of REQUEST_CASES) {
      await t.step(sample.name, () => check(sample, server.port, ca));
    }

    assert.deepEqual(server.reports, []);
  });
}

async function check(
  sample: RequestCase,
  port: number,
  ca: string | undefined,
): Promise<void> {
  using client = await RawClient.connect(port, ca);
  const isCut = sample.ends ?? false;

  // The server may close before it has everything; what counts is what it answers.
  await client.send(sample.bytes + (isCut ? "" : PROBE)).catch(() => {});
  if (isCut) await client.transport.closeWrite();
  const answers = await client.receiveAll();

  const statuses = answers.map(({ status }) => status);
  if (sample.refused !== undefined) {
    assert.deepEqual(
      statuses,
      sample.refused === "closed" ? [] : [sample.refused],
    );
    return;
  }
  const bodies = answers.map(({ body }) => JSON.parse(utf8(body)));
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.deepEqual({ ...bodies[0], ...sample.seen }, bodies[0]);
  assert.equal(bodies.length, sample.answers ?? (sample.last ? 1 : 2));
  if (!sample.last) assert.equal(bodies.at(-1)?.target, "/probe");
}

/** Text of one character per byte, read as UTF-8. */
function utf8(text: string): string {
  return Buffer.from(text, "latin1").toString();
}
