import assert from "node:assert/strict";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { startCommand } from "../../harness/process/running_command.ts";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";

const directResponse = { status: 200, body: "ok" };

function startGateway() {
  return startTracedGateway({
    routes: [{ name: "all", policies: { directResponse } }],
  });
}

/** Filters that are no booleans for any request, and what they are. */
const never: readonly (readonly [filter: string, type: string])[] = [
  ["1", "number"],
  ["'a'", "string"],
  ["null", "null"],
  ["[true]", "list"],
  ["request", "map"],
  ["request.path", "string"],
  ["request.headers['accept']", "string"],
  ["request.headers.accept", "string"],
  ["request.path + '/a'", "string"],
  ["source.port - 1", "number"],
  ["size(request.path)", "number"],
  ["request.path.split('/')", "list"],
  ["request.path.split('/').filter(part, part != '')", "list"],
  ["request.path == '/' ? 'yes' : 'no'", "string"],
];
Deno.test("/debug/trace rejects a filter that is not a boolean for any request", async () => {
  await using gateway = await startGateway();
  for (const [filter, type] of never) {
    const query = new URLSearchParams({ filter });
    const response = await fetch(`${gateway.admin}/debug/trace?${query}`);
    const [line] = (await response.text()).split("\n");
    assert.deepEqual([filter, response.status, line], [
      filter,
      400,
      `invalid filter: expected a boolean, got a ${type}`,
    ]);
  }
});

const sometimes = [
  "true",
  "!false",
  "'a' in request.headers",
  "has(request.headers.a)",
  "request.path.matches('a+')",
  "request.path.split('/').exists(part, part == 'a')",
  "['/a'].all(path, path == request.path)",
  "['/a'].exists_one(path, path == request.path)",
  "json(request.headers['x-json']).debug",
  "request.path == '/' ? true : json('false')",
  "bool('true')",
];
Deno.test("/debug/trace takes a filter that is a boolean, or may be", async () => {
  await using gateway = await startGateway();
  for (const filter of sometimes) {
    const stream = await gateway.watch({ filter });
    stream.stop();
  }
});

Deno.test("a filter that turns out to be no boolean ends the stream and says so", async () => {
  await using gateway = await startGateway();
  const filter = encodeURIComponent("json(request.headers['x-json'])");
  const response = await fetch(`${gateway.admin}/debug/trace?filter=${filter}`);
  await fetchRaw(gateway.origin, { headers: { "x-json": "7" } });
  assert.equal(
    await response.text(),
    ": ready\n\n: invalid filter: expected a boolean, got a number\n\n",
  );
});

Deno.test("trace reports that its filter is not a boolean", async () => {
  await using gateway = await startGateway();
  const admin = ["--admin", new URL(gateway.admin).host];
  await using command = startCommand({
    args: ["ctl", "proxy", "trace", ...admin, "--filter", "json('7')"],
  });
  let hasEnded = false;
  const ended = command.exited.finally(() => hasEnded = true);
  while (!hasEnded) await fetchRaw(gateway.origin);
  assert.equal(await ended, 2);
  assert.match(
    command.stderr(),
    /Cannot trace: invalid filter: expected a boolean, got a number/,
  );
});

Deno.test("/debug/trace rejects a parameter that is given twice", async () => {
  await using gateway = await startGateway();
  for (const query of ["count=1&count=2", "filter=true&expression=true"]) {
    const response = await fetch(`${gateway.admin}/debug/trace?${query}`);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /^Duplicate parameter: /);
  }
});
