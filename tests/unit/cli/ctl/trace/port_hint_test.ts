import assert from "node:assert/strict";
import { UnreachableError } from "../../../../../cli/client/admin_connection.ts";
import { explainPort } from "../../../../../cli/ctl/trace/trace_options.ts";
import { Failure } from "../../../../../cli/process/exit.ts";

const unreachable = new UnreachableError("Cannot reach localhost:15000");

Deno.test("explainPort describes --port when the admin interface cannot be reached, and only then", () => {
  assert.match(
    String(explainPort(unreachable, { port: 15001 })),
    /15000\n--port 15001 selects a listener, not the admin port$/,
  );
  for (
    const options of [{}, { port: 1, adminPort: 2 }, { port: 1, admin: "a:1" }]
  ) {
    assert.equal(explainPort(unreachable, options), unreachable);
  }
  const other = new Failure("Cannot trace port 1");
  assert.equal(explainPort(other, { port: 1 }), other);
});
