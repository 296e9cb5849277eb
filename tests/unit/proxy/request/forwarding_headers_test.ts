import {
  deepStrictEqual,
  match,
  notStrictEqual,
  strictEqual,
} from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import type { RequestMessage } from "../../../../src/http/message.ts";
import {
  addForwardingHeaders,
  requestIdOf,
} from "../../../../src/proxy/request/forwarding_headers.ts";

function requestFrom(
  address: string,
  headers: [string, string][],
): RequestMessage {
  return {
    version: "1.1",
    method: "GET",
    scheme: "http",
    authority: "example.com",
    target: "/",
    headers: HeaderList.from(headers),
    body: undefined,
    upgrade: undefined,
    expectsContinue: false,
    source: { address, port: 4711 },
    serverName: undefined,
    cancellation: new Cancellation(),
    sendInformational() {},
  };
}

function forwardingHeadersOf(request: RequestMessage): Record<string, string> {
  return Object.fromEntries(
    [...request.headers].map(([name, value]) => [name.toLowerCase(), value]),
  );
}

Deno.test("addForwardingHeaders replaces the fields of an untrusted client", () => {
  const request = requestFrom("192.0.2.7", [
    ["X-Forwarded-For", "10.0.0.1"],
    ["X-Forwarded-Proto", "https"],
    ["X-Forwarded-Host", "internal"],
    ["X-Forwarded-Port", "443"],
    ["Forwarded", "for=10.0.0.1"],
  ]);

  addForwardingHeaders(request, "id-1", "example.com", false);

  deepStrictEqual(forwardingHeadersOf(request), {
    "x-forwarded-for": "192.0.2.7",
    "x-forwarded-proto": "http",
    "x-forwarded-host": "example.com",
    "forwarded": "for=192.0.2.7;host=example.com;proto=http",
    "via": "1.1 gateway",
    "x-request-id": "id-1",
  });
});

Deno.test("addForwardingHeaders removes fields that impersonate a proxy", () => {
  const request = requestFrom("192.0.2.7", [
    ["X-Real-IP", "10.0.0.1"],
    ["X_Forwarded_For", "10.0.0.1"],
    ["Proxy", "http://evil.example"],
    ["X_Harmless", "kept"],
  ]);

  addForwardingHeaders(request, "id-1", "example.com", false);

  const names = Object.keys(forwardingHeadersOf(request));
  deepStrictEqual(
    names.filter((name) => /real|_|^proxy$/.test(name)),
    ["x_harmless"],
  );
});

Deno.test("addForwardingHeaders extends the fields of a trusted proxy", () => {
  const request = requestFrom("10.0.0.2", [
    ["x-forwarded-for", "203.0.113.9"],
    ["x-forwarded-for", "10.0.0.1"],
    ["x-forwarded-proto", "https"],
    ["forwarded", "for=203.0.113.9"],
    ["via", "1.1 edge"],
  ]);

  addForwardingHeaders(request, "id-1", "example.com:8080", true);

  deepStrictEqual(forwardingHeadersOf(request), {
    "x-forwarded-for": "203.0.113.9, 10.0.0.1, 10.0.0.2",
    "x-forwarded-proto": "https",
    "forwarded":
      'for=203.0.113.9, for=10.0.0.2;host="example.com:8080";proto=http',
    "via": "1.1 edge, 1.1 gateway",
    "x-forwarded-host": "example.com:8080",
    "x-request-id": "id-1",
  });
});

Deno.test("addForwardingHeaders quotes an IPv6 address in Forwarded", () => {
  const request = requestFrom("2001:db8::1", []);

  addForwardingHeaders(request, "id-1", "example.com", false);

  strictEqual(
    request.headers.get("forwarded"),
    'for="[2001:db8::1]";host=example.com;proto=http',
  );
});

Deno.test("requestIdOf keeps a valid id of the client", () => {
  strictEqual(
    requestIdOf(HeaderList.from([["X-Request-ID", "abc-123"]])),
    "abc-123",
  );
});

for (
  const { name, id } of [
    { name: "an empty id", id: "" },
    { name: "an id with a blank", id: "a b" },
    { name: "an id beyond 128 characters", id: "x".repeat(129) },
    { name: "an id beyond ASCII", id: "caf\u00e9" },
  ]
) {
  Deno.test(`requestIdOf replaces ${name}`, () => {
    const chosen = requestIdOf(HeaderList.from([["x-request-id", id]]));

    notStrictEqual(chosen, id);
    match(chosen, /^[0-9a-f-]{36}$/);
  });
}
