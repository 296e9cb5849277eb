import assert from "node:assert/strict";
import { CompileMemory } from "../../../../src/compile/memory/compile_memory.ts";

Deno.test("a view is read only after its pass, and has nothing of the last compilation", () => {
  const memory = new CompileMemory();
  const ports = memory.view<ReadonlySet<number>>();
  const hasPort = () => ports.read((each) => each.has(80));

  assert.throws(hasPort, /before the pass/);
  ports.fill(new Set([80]));
  assert.equal(hasPort(), true);
  memory.begin();
  assert.throws(hasPort, /before the pass/);
});

Deno.test("a result holds as long as its inputs, and what it reads of views, are the same", () => {
  const memory = new CompileMemory();
  const hosts = memory.view<ReadonlyMap<string, string>>();
  const results = memory.table<string, object>();
  const spec = {};
  const compile = (host: string, input: object) => {
    memory.begin();
    hosts.fill(new Map([["web", host]]));
    const result = results.recallFrom("web", [input], () => ({
      host: hosts.read((each) => each.get("web")),
    }));
    memory.commit();
    return result;
  };

  const first = compile("a", spec);

  assert.equal(compile("a", spec), first);
  assert.notEqual(compile("b", spec), first);
  assert.notEqual(compile("b", {}), compile("b", spec));
});
