import assert from "node:assert/strict";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { clientAddress } from "../../../../src/policy/login/endpoints/client_origin.ts";
import { trustedProxies } from "../../../../src/proxy/request/forwarding_headers.ts";

const trustsPeer = trustedProxies(["10.0.0.0/8", "fd00::/8"]);

/** Peer, fields `X-Forwarded-For`, and the address of the client. */
const cases: readonly [string, readonly string[], string][] = [
  ["203.0.113.7", ["198.51.100.1"], "203.0.113.7"],
  ["10.0.0.1", [], "10.0.0.1"],
  ["10.0.0.1", ["198.51.100.1"], "198.51.100.1"],
  ["10.0.0.1", ["1.1.1.1, 198.51.100.1, 10.0.0.2"], "198.51.100.1"],
  ["10.0.0.1", ["1.1.1.1", "198.51.100.1"], "198.51.100.1"],
  ["fd00::1", ["2001:db8::1"], "2001:db8::1"],
  ["10.0.0.1", ["198.51.100.1, garbage"], "10.0.0.1"],
  ["10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"],
];

for (const [address, fields, expected] of cases) {
  Deno.test(`the client of ${address} with ${JSON.stringify(fields)} is ${expected}`, () => {
    const headers = HeaderList.from(
      fields.map((field) => ["x-forwarded-for", field]),
    );

    assert.equal(
      clientAddress({ headers, source: { address, port: 1 } }, trustsPeer),
      expected,
    );
  });
}
