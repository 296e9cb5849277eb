import assert from "node:assert/strict";
import { SliceIndex } from "../../../src/cluster/source/slice_index.ts";

function slice(name: string, service: string) {
  return {
    metadata: {
      name,
      namespace: "default",
      labels: { "kubernetes.io/service-name": service },
    },
  };
}

Deno.test("a changed slice brings all slices of its service, and of the one that it leaves", () => {
  const index = new SliceIndex();
  const [a, b, c] = [slice("a", "web"), slice("b", "web"), slice("c", "api")];
  for (const each of [a, b, c]) index.onChange(each, undefined);
  assert.deepEqual(
    [...index.takeChanged()],
    [["default/web", [a, b]], ["default/api", [c]]],
  );
  assert.equal(index.takeChanged().size, 0);

  const moved = slice("b", "api");
  index.onChange(moved, b);
  assert.deepEqual(
    [...index.takeChanged()],
    [["default/web", [a]], ["default/api", [c, moved]]],
  );

  index.onChange(undefined, a);
  assert.deepEqual([...index.takeChanged()], [["default/web", []]]);
});
