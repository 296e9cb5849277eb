import assert from "node:assert/strict";
import { textSource } from "../../../mod.ts";
import {
  compileCandidate,
  loadCandidate,
} from "../../../src/gateway/candidate/candidate.ts";
import { Replay, ReplayTimeError } from "../../../src/gateway/trial/replay.ts";
import { ReplayServices } from "../../../src/gateway/trial/replay_services.ts";
import type { ReplayableRequest } from "../../../src/proxy/exchange/replayable_request.ts";

const request: ReplayableRequest = {
  acceptedAt: 0,
  durationMs: 1,
  port: 3000,
  client: "",
  identities: {},
  method: "GET",
  scheme: "http",
  authority: "localhost",
  target: "/",
  version: "1.1",
  hasQuery: false,
  reason: "",
  source: { address: "127.0.0.1", port: 1 },
  headers: [],
};

Deno.test("a replay that takes too long ends with advice", async () => {
  const candidate = await loadCandidate(
    textSource("gateways: { default: { port: 3000 } }"),
  );
  const { snapshot } = await compileCandidate(candidate);
  let time = 0;
  const replay = new Replay({
    snapshot,
    services: new ReplayServices([]),
    // Each look is six seconds later.
    clock: {
      now: () => 0,
      monotonic: () => time += 6000,
      setTimer: () => () => {},
    },
  });

  await assert.rejects(
    replay.run([request, request]),
    (error) =>
      error instanceof ReplayTimeError && /try fewer/.test(error.message),
  );
});
