import assert from "node:assert/strict";
import { Seal } from "../../../../src/identity/oauth/protocol/seal.ts";

const secret = "a secret of at least 32 characters, one";
const other = "a secret of at least 32 characters, two";

Deno.test("Seal opens what it sealed, for the same purpose only", () => {
  const seal = new Seal([secret]);
  const sealed = seal.seal("code", { id: "1" });

  assert.deepEqual(seal.open("code", sealed), { id: "1" });
  assert.equal(seal.open("refresh", sealed), undefined);
  assert.equal(new Seal([other]).open("code", sealed), undefined);
  assert.notEqual(seal.seal("code", { id: "1" }), sealed);
});

Deno.test("Seal opens values of an older secret after a new one came first", () => {
  const sealed = new Seal([secret]).seal("client", { name: "x" });

  assert.deepEqual(new Seal([other, secret]).open("client", sealed), {
    name: "x",
  });
});

Deno.test("Seal opens nothing that was changed, cut or made up", () => {
  const seal = new Seal([secret]);
  const sealed = seal.seal("code", { id: "1" });

  for (let index = 0; index < sealed.length; index += 3) {
    const flipped = sealed[index] === "A" ? "B" : "A";
    const changed = sealed.slice(0, index) + flipped + sealed.slice(index + 1);
    assert.equal(seal.open("code", changed), undefined, `at ${index}`);
  }
  for (
    const text of [
      "",
      "x",
      "a.b.c",
      sealed.slice(0, -4),
      "x".repeat(20_000),
      // The decoder reads the same bytes.
      `${sealed}x`,
      `${sealed}A`,
    ]
  ) {
    assert.equal(seal.open("code", text), undefined);
  }
});
