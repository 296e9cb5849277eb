import assert from "node:assert/strict";
import { isPublicAddress } from "../../../../src/identity/documents/public_address.ts";

const addresses: Readonly<Record<string, boolean>> = {
  "93.184.216.34": true,
  "2606:2800:220:1:248:1893:25c8:1946": true,
  "0.0.0.0": false,
  "10.1.2.3": false,
  "100.64.0.1": false,
  "127.0.0.1": false,
  "169.254.169.254": false,
  "172.16.0.1": false,
  "172.32.0.1": true,
  "192.168.1.1": false,
  "198.18.0.1": false,
  "224.0.0.1": false,
  "255.255.255.255": false,
  "::": false,
  "::1": false,
  "::ffff:93.184.216.34": false,
  "64:ff9b::a00:1": false,
  "fc00::1": false,
  "fe80::1": false,
  "2001:db8::1": false,
  "2001::1": false,
  "2002:a00:1::": false,
  "ff02::1": false,
  "example.com": false,
  "": false,
};

for (const [address, isPublic] of Object.entries(addresses)) {
  Deno.test(`isPublicAddress returns ${isPublic} for "${address}"`, () => {
    assert.equal(isPublicAddress(address), isPublic);
  });
}
