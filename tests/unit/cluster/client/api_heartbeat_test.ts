import assert from "node:assert/strict";
import { noopServices } from "../../../../src/policy/noop_services.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { failure, FakeApiServer } from "./fake_api_server.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { ApiHeartbeat } from "../../../../src/cluster/client/api_heartbeat.ts";
import { KubernetesApi } from "../../../../src/cluster/client/kubernetes_api.ts";

Deno.test("a connection on which nothing comes any more is given up, with its watches", async () => {
  let isSilent = true;
  const silent = Promise.withResolvers<void>();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      if (request.url.endsWith("/watch")) await silent.promise;
      else if (isSilent) await silent.promise;
      return Response.json({});
    },
  );
  using api = new KubernetesApi({
    server: `http://127.0.0.1:${server.addr.port}`,
    namespace: "default",
  });
  const stop = new AbortController();
  const returned = Promise.withResolvers<void>();
  const watch = api.open({ path: "/watch" });
  const beating = new ApiHeartbeat({
    api,
    clock: systemClock,
    log: noopServices().log,
    onReturn: returned.resolve,
    beatMs: 20,
  }).run(stop.signal);
  await assert.rejects(watch, /the API server has been silent/);
  isSilent = false;
  assert.deepEqual(await api.request({ path: "/" }), {});
  await returned.promise;
  stop.abort();
  await beating;
  silent.resolve();
});

Deno.test("a request without a response is looked into at once", async () => {
  const clock = new FakeClock();
  let isAway = true;
  await using server = new FakeApiServer(() =>
    isAway ? failure(503, "ServiceUnavailable") : {}
  );
  const returned = Promise.withResolvers<void>();
  const heartbeat = new ApiHeartbeat({
    api: server.api,
    clock,
    log: noopServices().log,
    onReturn: returned.resolve,
  });
  const stop = new AbortController();
  const beating = heartbeat.run(stop.signal);
  heartbeat.beatNow();
  while (server.calls.length === 0 || clock.pending === 0) {
    await new Promise((resolve) => setTimeout(resolve));
  }
  isAway = false;
  clock.advance(1000);
  await returned.promise;
  stop.abort();
  await beating;
});
