import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { textBody } from "../../../../src/http/body.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { HttpLegacyLink } from "../../../../src/mcp/servers/http/http_legacy_link.ts";
import { HttpTransport } from "../../../../src/mcp/servers/http/http_transport.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

/** A server that ends each stream before the response, and wants its client back at once. */
function startPolled(polls: number) {
  const clock = new FakeClock();
  let requests = 0;
  const settings = {
    name: "a",
    prefix: "",
    tools: undefined,
    descriptions: new Map(),
    timeouts: { connectMs: 1000, listMs: 1000, callMs: 1000 },
  };
  const address = { authority: "localhost", path: "/mcp", headers: [] };
  const http = new HttpTransport(address, () => {
    requests++;
    const data = requests <= polls
      ? ""
      : '{"jsonrpc":"2.0","id":1,"result":{}}';
    const body = textBody(`id: ${requests}\nretry: 0\ndata: ${data}\n\n`);
    const headers = new HeaderList(["content-type", "text/event-stream"]);
    return Promise.resolve({ status: 200, headers, body });
  }, { settings, onListsChanged() {} });
  const link = new HttpLegacyLink({
    server: "a",
    http,
    clock,
    onWrongEra() {},
  });
  return { link, clock, count: () => requests };
}

/** Lets promises go on until all of them wait for a timer. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
}

Deno.test("a server may end the stream of a request as often as it likes before the response", async () => {
  const { link, clock } = startPolled(20);
  const received = Array.fromAsync(
    link.exchange("{}", 1, new Cancellation()),
  );

  for (let poll = 0; poll < 20; poll++) {
    await settle();
    clock.advance(100);
  }

  assert.deepEqual(await received, [{ kind: "result", id: 1, result: {} }]);
});

Deno.test("a server that wants its client back at once is not asked without a pause", async () => {
  const { link, clock, count } = startPolled(20);
  const listening = new Cancellation();
  const listened = Array.fromAsync(link.listen(listening, () => {}));

  await settle();
  clock.advance(99);
  await settle();
  const early = count();
  clock.advance(1);
  await settle();

  assert.deepEqual([early, count()], [1, 2]);
  listening.cancel(new Error("left"));
  await assert.rejects(listened, /left/);
});
