import assert from "node:assert/strict";
import { adminEndpoints } from "../../../../admin/endpoints/admin_endpoints.ts";
import { AuditLog } from "../../../../admin/access/audit_log.ts";
import { describeApi } from "../../../../admin/http/openapi.ts";
import {
  startAdminServer,
  startStatsServer,
} from "../../../../admin/admin_server.ts";
import { statsEndpoints } from "../../../../admin/endpoints/runtime/stats_endpoints.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { createTestLog, FakeTarget } from "../fake_target.ts";

const target = new FakeTarget({
  adminAddr: "127.0.0.1:0",
  statsAddr: "127.0.0.1:0",
});
const stats = statsEndpoints(target);
const admin = adminEndpoints({
  target,
  clock: systemClock,
  profiles: {
    heap: () => new Response(),
    ...(Deno.build.os === "linux" && { cpu: () => new Response() }),
  },
  ui: () => new Response(),
  audit: new AuditLog(systemClock, createTestLog().log),
});
const document = describeApi({
  version: "1.2.3",
  requiresToken: false,
  admin,
  stats,
});

interface Operation {
  readonly summary: string;
  readonly responses: Readonly<Record<string, unknown>>;
}

const paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> =
  document.paths;

function operationOf(path: string, method: string): Operation | undefined {
  return paths[path]?.[method.toLowerCase()];
}

Deno.test("the OpenAPI document describes every method of every endpoint", () => {
  for (const { path, methods } of [...admin, ...stats]) {
    for (const method of Object.keys(methods)) {
      const summary = operationOf(path.replace("*", "{id}"), method)?.summary;
      assert.match(summary ?? "", /^[A-Z]/, `${method} ${path}`);
    }
  }
  for (const [path, item] of Object.entries(paths)) {
    for (const method of ["get", "head", "post"]) {
      const operation = item[method];
      if (operation === undefined) continue;
      assert.ok(operation.summary !== "", `${method} ${path}`);
      const good = path === "/ui" ? "308" : "200";
      assert.ok(good in operation.responses, `${method} ${path}`);
    }
  }
});

const queries: readonly (readonly [path: string, status: number])[] = [
  ["/logging?level=nonsense%3D%3D", 400],
  ["/usage?by=x", 400],
  ["/debug/pprof/heap?seconds=0", 400],
  ["/usage?since=yesterday", 400],
  ["/usage?age=1h", 400],
  ["/traffic?range=7d", 400],
  ["/traffic?by=color", 400],
  ["/traffic?by=route&by=key", 400],
  ["/traffic?route=chat", 400],
  ["/requests?status=6xx", 400],
  ["/requests?since=yesterday", 400],
  ["/requests?limit=10001", 400],
  ["/requests?color=red", 400],
  ["/debug/tasks?limit=0", 400],
  ["/debug/tasks?limit=100001", 400],
  ["/debug/tasks?limit=", 400],
  ["/debug/tasks?limit=1&limit=2", 400],
  ["/debug/requests?limit=x", 400],
  ["/debug/trace?count=0", 400],
  ...(Deno.build.os === "linux"
    ? [
      ["seconds=0", 400],
      ["seconds=301", 400],
      ["seconds=1.5", 400],
      ["seconds=-1", 400],
      ["seconds=ten", 400],
      ["seconds=", 400],
      ["frequency=0", 400],
      ["frequency=1001", 400],
      ["frequency=99.5", 400],
      ["seconds=1&seconds=1", 400],
    ].map(([query]) => [`/debug/pprof/profile?${query}`, 400] as const)
    : []),
];

for (const adminAddr of ["127.0.0.1:0", "unix"]) {
  Deno.test(`every path and method at ${adminAddr} responds as the OpenAPI document specifies`, async () => {
    const folder = await Deno.makeTempDir();
    const where = adminAddr === "unix"
      ? `unix:${folder}/admin.sock`
      : adminAddr;
    const { log } = createTestLog();
    const target = new FakeTarget({
      adminAddr: where,
      statsAddr: "127.0.0.1:0",
    });
    const clock = systemClock;
    const server = await startAdminServer({ target, log, clock });
    const statsServer = await startStatsServer({ target, log, clock });
    const [origin = ""] = server.addresses;
    const [statsOrigin = ""] = statsServer.addresses;
    const proxy: Deno.Proxy | undefined = adminAddr === "unix"
      ? { transport: "unix", path: `${folder}/admin.sock` }
      : undefined;
    const client = Deno.createHttpClient(proxy === undefined ? {} : { proxy });
    const request = async (method: string, path: string) => {
      const isStats = stats.some((each) => each.path === path);
      const base = isStats
        ? statsOrigin
        : adminAddr === "unix"
        ? "http://localhost"
        : origin;
      const response = await fetch(base + path, {
        method,
        redirect: "manual",
        ...(!isStats && { client }),
      });
      await response.body?.cancel();
      return response.status;
    };
    try {
      for (const [path, item] of Object.entries(paths)) {
        for (
          const method of ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]
        ) {
          // Endpoints that wait; their rejections are tested below.
          if (
            /trace|profile$|heap|tasks/.test(path) &&
            item[method.toLowerCase()] !== undefined
          ) continue;
          const status = await request(method, path.replace("{id}", "x"));
          const operation = operationOf(path, method);
          assert.equal(
            operation === undefined,
            status === 405,
            `${method} ${path}: ${status}`,
          );
          if (operation !== undefined) {
            assert.ok(
              String(status) in operation.responses,
              `${method} ${path}: ${status}`,
            );
            assert.ok(status < 500, `${method} ${path}: ${status}`);
          }
        }
      }
      for (const [query, expected] of queries) {
        const method = query.startsWith("/logging") ? "POST" : "GET";
        const status = await request(method, query);
        assert.equal(status, expected, query);
        const [path = ""] = query.split("?");
        assert.ok(
          String(status) in (operationOf(path, method)?.responses ?? {}),
          query,
        );
      }
      assert.equal(await request("GET", "/nothing"), 404);
      assert.equal(await request("GET", "/memory/"), 404);
    } finally {
      client.close();
      await server.close();
      await statsServer.close();
      await Deno.remove(folder, { recursive: true });
    }
  });
}
