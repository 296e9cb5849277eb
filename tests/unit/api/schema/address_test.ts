import assert from "node:assert/strict";
import { parseAddress } from "../../../../src/api/schema/address.ts";
import { splitHostPort } from "../../../../src/base/wire/host_port.ts";

for (
  const { text, expected } of [
    { text: "off", expected: { kind: "off" } },
    {
      text: "unix:/run/a.sock",
      expected: { kind: "unix", path: "/run/a.sock" },
    },
    {
      text: "localhost:15000",
      expected: { kind: "tcp", hosts: ["127.0.0.1", "::1"], port: 15000 },
    },
    {
      text: "0.0.0.0:80",
      expected: { kind: "tcp", hosts: ["0.0.0.0"], port: 80 },
    },
    { text: "[::]:0", expected: { kind: "tcp", hosts: ["::"], port: 0 } },
    { text: "unix:", expected: undefined },
    { text: "localhost", expected: undefined },
    { text: "127.0.0.1:65536", expected: undefined },
    { text: "::1:80", expected: undefined },
    { text: "[127.0.0.1]:80", expected: undefined },
    { text: "256.0.0.1:80", expected: undefined },
    { text: "example.com:80", expected: undefined },
    { text: "", expected: undefined },
    { text: "OFF", expected: undefined },
  ]
) {
  Deno.test(`parseAddress parses ${JSON.stringify(text)}`, () => {
    assert.deepEqual(parseAddress(text), expected);
  });
}

for (
  const { text, expected } of [
    {
      text: "api.example.com:443",
      expected: { host: "api.example.com", port: 443 },
    },
    { text: "[::1]:9000", expected: { host: "::1", port: 9000 } },
    { text: "api.example.com", expected: undefined },
    { text: "api.example.com:", expected: undefined },
    { text: ":9000", expected: undefined },
    { text: "[::1]", expected: undefined },
    { text: "a:b:1", expected: undefined },
  ]
) {
  Deno.test(`splitHostPort parses ${JSON.stringify(text)}`, () => {
    assert.deepEqual(splitHostPort(text), expected);
  });
}
