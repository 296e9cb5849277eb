import assert from "node:assert/strict";
import { portHint } from "../../../../cli/client/port_hint.ts";

/** Starts a server whose responses depend on the path. */
function serve(responses: Readonly<Record<string, Response>>) {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) =>
      responses[new URL(request.url).pathname] ??
        new Response("not found", { status: 404 }),
  );
}

const servers = {
  listener: () =>
    serve({
      "/logging": new Response("route not found", {
        status: 404,
        headers: { "x-gateway-error": "route_not_found" },
      }),
    }),
  stats: () => serve({ "/healthz/live": new Response("ok\n") }),
  admin: () =>
    serve({ "/logging": new Response("current log level is info\n") }),
  guarded: () =>
    serve({ "/logging": new Response("no token", { status: 401 }) }),
  other: () => serve({}),
};

for (
  const { what, start, fallback, expected } of [
    {
      what: "a listener",
      start: servers.listener,
      expected: /is a listener of a gat/,
    },
    {
      what: "the metrics",
      start: servers.stats,
      expected: /has metrics and health/,
    },
    { what: "another program", start: servers.other, expected: /^$/ },
    {
      what: "another program while a gateway has the default",
      start: servers.other,
      fallback: servers.admin,
      expected: /^\nAn admin interface is at .*, the default: omit -p/,
    },
    {
      what: "the metrics while a gateway with a token has the default",
      start: servers.stats,
      fallback: servers.guarded,
      expected: /has metrics.*\nAn admin interface is at /,
    },
  ]
) {
  Deno.test(`portHint describes ${what}`, async () => {
    await using server = start();
    await using second = (fallback ?? servers.other)();
    const [name, atDefault] = [server, second].map(({ addr: { port } }) =>
      `127.0.0.1:${port}`
    );

    const hint = await portHint(name ?? "", atDefault);

    assert.match(hint, expected);
  });
}
