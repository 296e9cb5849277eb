import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { TestServer } from "../harness/servers/echo_server.ts";
import { parseWithLlhttp } from "../harness/parsers/llhttp_requests.ts";
import { mutatedRequests } from "../harness/clients/mutated_requests.ts";
import { createRandom } from "../harness/clients/mutations.ts";
import { RawClient } from "../harness/clients/raw_client.ts";

const CASES = 3_000;
const AT_A_TIME = 16;
const REFUSALS = new Set([400, 417, 431, 499, 501, 505]);
const PROBE = "GET /probe HTTP/1.1\r\nHost: probe\r\n\r\n";

/** Sends bytes in pieces of random size and reads all answers. */
async function exchange(
  port: number,
  bytes: string,
  random: () => number,
): Promise<{ status: number; seen: Record<string, unknown> }[]> {
  using client = await RawClient.connect(port);
  const sending = (async () => {
    for (let rest = bytes; rest.length > 0;) {
      const size = 1 + Math.floor(random() * random() * rest.length);
      await client.send(rest.slice(0, size));
      rest = rest.slice(size);
    }
    await client.transport.closeWrite();
  })().catch(() => {}); // The server may have had enough.
  const answers = await client.receiveAll();
  await sending;
  return answers.map(({ status, body }) => ({
    status,
    seen: status === 200
      ? JSON.parse(Buffer.from(body, "latin1").toString())
      : {},
  }));
}

async function check(port: number, random: () => number): Promise<void> {
  const bytes = mutatedRequests(random) + PROBE;
  const answers = await exchange(port, bytes, random);
  const { messages, error } = parseWithLlhttp(bytes);
  const note = JSON.stringify(bytes);

  for (const [index, { status, seen }] of answers.entries()) {
    if (status !== 200) {
      assert.ok(REFUSALS.has(status), `${status} ${note}`);
      assert.equal(
        index,
        answers.length - 1,
        `went on after ${status} ${note}`,
      );
      continue;
    }
    const expected = messages[index];
    if (error === "HPE_INVALID_METHOD" && !expected?.complete) return;
    assert.equal(seen.target, expected?.target, note);
    assert.equal(seen.method, expected?.method, note);
    assert.equal(seen.body, expected?.body, note);
  }
}

Deno.test("HttpServer neither crashes nor hangs nor mixes requests up, whatever it is sent", async () => {
  await using test = await TestServer.start();
  const random = createRandom(42);

  for (let done = 0; done < CASES; done += AT_A_TIME) {
    await Promise.all(
      Array.from({ length: AT_A_TIME }, () => check(test.port, random)),
    );
  }
  using client = await RawClient.connect(test.port);
  await client.send(PROBE);
  const answer = await client.receive();

  assert.equal(answer?.status, 200);
  assert.deepEqual(test.reports, []);
});
