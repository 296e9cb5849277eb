import assert from "node:assert/strict";
import { emptyResourceSet } from "../../../../src/api/resources/resource_set.ts";
import { openEgress } from "../../../../src/base/wire/egress_policy.ts";
import { Lookups } from "../../../../src/compile/attach/lookups.ts";
import { CompileMemory } from "../../../../src/compile/memory/compile_memory.ts";
import { References } from "../../../../src/compile/resolve/reference_grants.ts";

const INPUTS = {
  readFile: () => "",
  loopbackPorts: new Set<number>(),
  egress: openEgress,
  references: new References(emptyResourceSet),
};

const ATTACHED = {
  backends: new Map(),
  invalidBackends: new Map([["default/web", "denied"]]),
  clientCertificates: new Map(),
  attachments: new Map(),
  sites: new Map(),
};

Deno.test("a look-up before its pass throws instead of finding what the last compilation had", () => {
  const lookups = new Lookups(new CompileMemory());

  assert.throws(() => lookups.allowsLoopback(80), TypeError);
  lookups.begin(INPUTS);
  assert.equal(lookups.allowsLoopback(80), false);
  lookups.attach(ATTACHED);
  assert.equal(lookups.denialOfBackend("default/web"), "denied");
  lookups.begin(INPUTS);
  assert.throws(
    () => lookups.denialOfBackend("default/web"),
    /before the compilation attaches policies/,
  );
});
