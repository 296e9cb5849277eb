/** Replicas of a gateway in front of MCP servers, one of which is killed. */
import assert from "node:assert/strict";
import { killBetweenRounds } from "../../../harness/mcp/killed_replica.ts";

Deno.test("a call of a server of 2026-07-28 goes on at another replica, once", async () => {
  assert.deepEqual(await killBetweenRounds("modern"), {
    outcome: "done",
    effects: 1,
  });
});

Deno.test("a call that waits at a server until 2025-11-25 is lost with its replica, and says so", async () => {
  const { outcome, effects } = await killBetweenRounds("legacy");

  assert.match(outcome, /The call is lost/);
  assert.equal(effects, 0);
});
