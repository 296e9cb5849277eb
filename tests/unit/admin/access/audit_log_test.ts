import assert from "node:assert/strict";
import { AuditLog, withOutcome } from "../../../../admin/access/audit_log.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { createTestLog } from "../fake_target.ts";

function start(respond: () => Response = () => new Response()) {
  const { log, lines } = createTestLog();
  const audit = new AuditLog(new FakeClock(), log);
  const handler = audit.record("none", respond);
  const send = async (method: string, path: string) => {
    const request = new Request(`http://localhost${path}`, { method });
    await handler(request, "unix:/run/gateway.sock");
  };
  return { audit, lines, send };
}

Deno.test("a change over a unix socket is recorded with the socket and what the endpoint says about it", async () => {
  const { audit, lines, send } = start(() =>
    withOutcome(new Response(), "wrote a\u001b[2J file")
  );

  await send("POST", "/limits/reset?key=a");

  assert.deepEqual(audit.read(), {
    changes: [{
      at: "2026-01-01T00:00:00.000Z",
      address: "unix:/run/gateway.sock",
      access: "none",
      action: "POST /limits/reset?key=a",
      status: 200,
      outcome: "wrote a\\u001b[2J file",
    }],
    omitted: 0,
  });
  assert.equal(lines.length, 1);
});

for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
  Deno.test(`a ${method} of any path is a change`, async () => {
    const { audit, send } = start(() => new Response("", { status: 405 }));

    await send(method, "/any/path");

    assert.equal(audit.read().changes[0]?.outcome, "rejected");
  });
}

for (
  const [method, path] of [
    ["GET", "/config_dump"],
    ["HEAD", "/logging"],
    ["POST", "/try"],
    ["POST", "/ui/api/try"],
    ["POST", "/ui/api/source/check"],
    ["POST", "/ui/api/source/compare"],
    ["POST", "/ui/api/source/history/compare"],
    ["POST", "/ui/api/playground/evaluate"],
  ] as const
) {
  Deno.test(`${method} ${path} only reads, and is not recorded`, async () => {
    const { audit, lines, send } = start();

    await send(method, path);

    assert.deepEqual(audit.read().changes, []);
    assert.deepEqual(lines, []);
  });
}

Deno.test("the last 256 changes are kept, each in bounded space", async () => {
  const { audit, send } = start();

  for (let each = 0; each < 300; each++) {
    await send("POST", `/${each}?${"x".repeat(10_000)}`);
  }

  const { changes, omitted } = audit.read();
  assert.equal(changes.length, 256);
  assert.equal(omitted, 44);
  assert.match(changes[0]?.action ?? "", /^POST \/299\?x+$/);
  assert.ok(changes.every(({ action }) => action.length <= 256));
});
