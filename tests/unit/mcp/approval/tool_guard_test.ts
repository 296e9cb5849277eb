import assert from "node:assert/strict";
import { systemClock } from "../../../../src/base/clock.ts";
import { ToolGuard } from "../../../../src/mcp/approval/tool_guard.ts";
import { lockedTool } from "../../../../src/mcp/approval/tool_lock.ts";
import type { ToolPins } from "../../../../src/mcp/approval/tool_pins.ts";
import type { ToolLock } from "../../../../src/mcp/servers/tool_approval.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";

const settings = {
  name: "docs",
  prefix: "docs",
  tools: undefined,
  approval: { kind: "firstUse", newTools: "Hold" },
  descriptions: new Map(),
  timeouts: { connectMs: 0, listMs: 0, callMs: 0 },
} as const;

function toolsOf(description: string) {
  return new Map([["read", { name: "read", description }]]);
}

function lockOf(description: string): ToolLock {
  return new Map([["read", lockedTool({ name: "read", description })]]);
}

function createGuard(pins: Partial<ToolPins>) {
  const notExpected = () => Promise.reject(new Error("not expected"));
  const log = new RecordedLog();
  const all = { read: notExpected, pin: notExpected, ...pins };
  return { log, guard: new ToolGuard("default/tools", all, log, systemClock) };
}

Deno.test("while nobody knows what is approved, clients get no tools", async () => {
  const fail = () => Promise.reject(new Error("down"));
  const { guard } = createGuard({ read: fail });

  await assert.rejects(
    guard.admitted(settings, toolsOf("Reads.")),
    /the store of approved tools fails/,
  );
});

Deno.test("what is known stays while the store fails, and is read again once it has changed", async () => {
  const locks = [lockOf("Reads."), lockOf("Changed.")];
  const { guard } = createGuard({
    read: () => {
      const lock = locks.shift();
      return lock ? Promise.resolve(lock) : Promise.reject(new Error("down"));
    },
  });
  const namesOf = async (description: string) => [
    ...(await guard.admitted(settings, toolsOf(description))).keys(),
  ];

  assert.deepEqual(await namesOf("Reads."), ["read"]);
  assert.deepEqual(await namesOf("Changed."), []);
  assert.deepEqual(guard.countsOf("docs"), { held: 1, suspicious: 0 });
  guard.forget();
  assert.deepEqual(await namesOf("Changed."), ["read"]);
  assert.deepEqual(await namesOf("Reads."), []);
});

Deno.test("an approval while the one before is being read is not lost", async () => {
  const first = Promise.withResolvers<ToolLock>();
  const answers = [first.promise, Promise.resolve(lockOf("Changed."))];
  const { guard } = createGuard({
    read: () => answers.shift() ?? Promise.reject(new Error("too often")),
  });

  const before = guard.admitted(settings, toolsOf("Changed."));
  guard.forget();
  first.resolve(lockOf("Reads."));
  const after = await before.then(() =>
    guard.admitted(settings, toolsOf("Changed."))
  );

  assert.deepEqual([...(await before).keys()], []);
  assert.deepEqual([...after.keys()], ["read"]);
});
