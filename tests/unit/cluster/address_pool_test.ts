import assert from "node:assert/strict";
import { parseAddressPool } from "../../../src/cluster/source/address_pool.ts";
import { decode, gateway } from "../compile/resources.ts";

function gatewayWith(name: string, addresses: readonly object[]) {
  const { spec, metadata } = gateway(name);
  return decode("Gateway", metadata, { ...spec, addresses });
}

/** Addresses of the gateways, by their names. */
function assign(
  pool: ReturnType<typeof parseAddressPool>,
  ...gateways: ReturnType<typeof gatewayWith>[]
) {
  return Object.fromEntries(
    pool.assign(gateways).map(({ metadata, spec }) => [
      metadata.name,
      spec.addresses?.map(({ value }) => value),
    ]),
  );
}

Deno.test("a pool gives an address to gateways without one, and to those with one that has no value", () => {
  const pool = parseAddressPool("10.0.0.0/29");
  const none = gatewayWith("none", []);
  const empty = gatewayWith("empty", [{ type: "IPAddress" }]);
  const fixed = gatewayWith("fixed", [{ value: "10.1.1.1" }]);
  const both = gatewayWith("both", [{ value: "10.1.1.2" }, {}]);
  assert.deepEqual(assign(pool, none, empty, fixed, both), {
    none: ["10.0.0.1"],
    empty: ["10.0.0.2"],
    fixed: ["10.1.1.1"],
    both: ["10.1.1.2", "10.0.0.3"],
  });
  // Gateways keep their addresses; those of others are free again.
  assert.deepEqual(assign(pool, empty, gatewayWith("new", [])), {
    empty: ["10.0.0.2"],
    new: ["10.0.0.1"],
  });
});

for (const text of ["", "10.0.0.0", "10.0.0.0/31", "10.0.0.256/24", "::/64"]) {
  Deno.test(`"${text}" is no pool`, () => {
    assert.throws(() => parseAddressPool(text), TypeError);
  });
}
