import assert from "node:assert/strict";
import { UnreachableError } from "../../../../../cli/client/admin_connection.ts";
import { explainPort } from "../../../../../cli/ctl/trace/trace_options.ts";
import { Failure } from "../../../../../cli/process/exit.ts";

const unreachable = new UnreachableError("Cannot reach localhost:15000");

Deno.test("trace says what --port chose when the admin interface was not found, and only then", () => {
  assert.match(
    String(explainPort(unreachable, { port: 15001 })),
    /15000\nWith --port 15001 you chose a listener, not the admin port$/,
  );
  for (
    const options of [{}, { port: 1, adminPort: 2 }, { port: 1, admin: "a:1" }]
  ) {
    assert.equal(explainPort(unreachable, options), unreachable);
  }
  const other = new Failure("Cannot trace port 1");
  assert.equal(explainPort(other, { port: 1 }), other);
});
