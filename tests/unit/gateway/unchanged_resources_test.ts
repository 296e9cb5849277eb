import assert from "node:assert/strict";
import { runToEnd } from "../../../src/base/slices.ts";
import { keepUnchanged } from "../../../src/gateway/unchanged_resources.ts";
import { readObjects } from "../../harness/gateway/changing_objects.ts";

function routes(...paths: readonly string[]): string {
  return JSON.stringify({
    gateways: { default: { port: 80 } },
    routes: paths.map((value, index) => ({
      name: `r${index}`,
      matches: [{ path: { value } }],
      policies: { directResponse: { status: 200 } },
    })),
  });
}

Deno.test("objects of a file that have not changed are those of the last load", async () => {
  const before = await readObjects(routes("/a", "/b"));
  const after = await readObjects(routes("/a", "/c", "/d"));
  const kept = runToEnd(keepUnchanged(before, after));
  assert.deepEqual(kept, after);
  assert.equal(kept.gateways[0], before.gateways[0]);
  assert.equal(kept.httpRoutes[0], before.httpRoutes[0]);
  assert.notEqual(kept.httpRoutes[1], before.httpRoutes[1]);
});

Deno.test("fields that are no lists are those of the new load", async () => {
  const resources = await readObjects(routes("/a"));
  const before = { ...resources, environment: ["secret"] };
  assert.deepEqual(runToEnd(keepUnchanged(before, resources)), resources);
});
