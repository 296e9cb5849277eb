import assert from "node:assert/strict";
import { noopServices } from "../../../../src/policy/policy_services.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { keepConnectionAlive } from "../../../../src/cluster/client/api_heartbeat.ts";
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
  const watch = api.open({ path: "/watch" });
  const beating = keepConnectionAlive({
    api,
    clock: systemClock,
    log: noopServices().log,
    beatMs: 20,
  }, stop.signal);
  await assert.rejects(watch, /the API server has been silent/);
  isSilent = false;
  assert.deepEqual(await api.request({ path: "/" }), {});
  stop.abort();
  await beating;
  silent.resolve();
});
