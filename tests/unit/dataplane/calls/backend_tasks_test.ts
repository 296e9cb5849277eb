import assert from "node:assert/strict";
import {
  type BackendTasks,
  mergeBackendTasks,
} from "../../../../src/dataplane/calls/backend_tasks.ts";

const idle = {
  endpoint: "10.0.0.1:80",
  backends: ["default/tools"],
  health: "healthy",
  check: null,
  requests: 1,
  failures: 1,
  failureShare: 1,
  ejections: 0,
  latencyMs: null,
  active: 0,
  idle: 1,
  waiting: 0,
} as const;

const lookup = {
  host: "tools.example",
  backends: ["default/tools"],
  addresses: ["10.0.0.1"],
  ignored: 0,
  lookedUpAt: "2026-01-01T00:00:00.000Z",
  error: null,
};

const cooldown = {
  backend: "default/tools",
  until: "2026-01-01T00:00:10.000Z",
  failures: 3,
  reason: "503",
};

Deno.test("of what workers know about an endpoint, the worst is shown, and sums", () => {
  const check = { isPassing: false, failure: "no", checkedAt: 5 };
  const workers: BackendTasks[] = [
    {
      upstreams: [{ ...idle, health: "ejected", failureShare: null }],
      lookups: [],
      cooldowns: [],
    },
    {
      upstreams: [{ ...idle, health: "unhealthy", check, latencyMs: 5 }],
      lookups: [],
      cooldowns: [],
    },
  ];

  assert.deepEqual(mergeBackendTasks(workers).upstreams, [{
    ...idle,
    health: "unhealthy",
    check,
    requests: 2,
    failures: 2,
    latencyMs: 5,
    idle: 2,
  }]);
});

Deno.test("of look-ups and rests that workers know, the latest are shown", () => {
  const later = {
    ...lookup,
    lookedUpAt: "2026-01-01T00:00:30.000Z",
    addresses: ["10.0.0.2"],
  };
  const longer = { ...cooldown, until: "2026-01-01T00:01:00.000Z" };
  const workers: BackendTasks[] = [
    { upstreams: [], lookups: [later], cooldowns: [cooldown] },
    { upstreams: [], lookups: [lookup], cooldowns: [longer] },
  ];

  const { lookups, cooldowns } = mergeBackendTasks(workers);

  assert.deepEqual([lookups, cooldowns], [[later], [longer]]);
});
