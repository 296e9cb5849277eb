import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { createLogger } from "../../../../src/base/log/log.ts";
import { parseLogFilter } from "../../../../src/base/log/log_filter.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import type { ResponseMessage } from "../../../../src/http/message.ts";
import { RpcText } from "../../../../src/mcp/direct/rpc_text.ts";
import { WorkerRelay } from "../../../../src/proxy/mcp/worker_relay.ts";

function request() {
  return {
    method: "POST",
    headers: new HeaderList(),
    text: new RpcText("{}"),
    user: "ada",
    owners: [],
    cancellation: new Cancellation(),
  };
}

/** Two workers, of which the second handles requests. */
function createRelays(handle: () => Promise<ResponseMessage>) {
  const secret = crypto.randomUUID();
  const lines: string[] = [];
  const logger = createLogger({
    write: (line) => lines.push(line),
    clock: systemClock,
    format: "text",
    filter: parseLogFilter("info"),
  });
  const options = { clock: systemClock, log: logger.module("mcp") };
  const one = new WorkerRelay(secret, 1, options);
  const two = new WorkerRelay(secret, 2, options);
  two.serve(handle, () => {});
  return {
    lines,
    send: () => one.send(2, "default/tools", request(), undefined),
    replace: () => new WorkerRelay(secret, 2, options),
    [Symbol.dispose]() {
      one.close();
      two.close();
    },
  };
}

Deno.test("a request that the other worker cannot handle fails", async () => {
  using relays = createRelays(() => Promise.reject(new Error("a bug")));

  await assert.rejects(relays.send(), { code: "internal" });

  assert.match(relays.lines.join(""), /another worker.*a bug/);
});

Deno.test("a request that another worker has accepted fails when that is replaced", async () => {
  const accepted = Promise.withResolvers<void>();
  using relays = createRelays(() => {
    accepted.resolve();
    return new Promise(() => {});
  });
  const response = relays.send();
  await accepted.promise;

  const replacement = relays.replace();

  await assert.rejects(response, { code: "internal" });
  replacement.close();
});
