import assert from "node:assert/strict";
import type { RequestRedirect } from "../../../../src/api/rules/http_filter.ts";
import { createRequestRedirect } from "../../../../src/policy/http/request_redirect.ts";
import { answer, context } from "../exchange.ts";

// Gateway API, HTTPRequestRedirectFilter. Requests are for http://gw.example/a?b unless they say otherwise.
const cases: {
  quote: string;
  config: Partial<RequestRedirect>;
  request?: Parameters<typeof context>[0];
  port?: number;
  location: string;
}[] = [
  {
    quote:
      "When empty, the hostname in the `Host` header of the request is used",
    config: {},
    location: "http://gw.example/a?b",
  },
  {
    quote:
      "Hostname is the hostname to be used in the value of the `Location` header",
    config: { hostname: "new.example" },
    location: "http://new.example/a?b",
  },
  {
    quote: "When empty, the scheme of the request is used",
    config: { hostname: "new.example" },
    request: { scheme: "https" },
    port: 443,
    location: "https://new.example/a?b",
  },
  {
    quote:
      "If redirect scheme is not-empty, the redirect port MUST be the well-known port associated with the redirect scheme",
    config: { scheme: "https" },
    request: { authority: "gw.example:8080" },
    port: 8080,
    location: "https://gw.example/a?b",
  },
  {
    quote:
      "If redirect scheme is empty, the redirect port MUST be the Gateway Listener port",
    config: { hostname: "new.example" },
    port: 8080,
    location: "http://new.example:8080/a?b",
  },
  {
    quote: "Port is the port to be used in the value of the `Location` header",
    config: { port: 8443, scheme: "https" },
    location: "https://gw.example:8443/a?b",
  },
  {
    quote: "SHOULD NOT add the port number […] HTTP […] _and_ use port 80",
    config: { port: 80 },
    port: 8080,
    location: "http://gw.example/a?b",
  },
  {
    quote: "SHOULD NOT add the port number […] HTTPS […] _and_ use port 443",
    config: { port: 443, scheme: "https" },
    location: "https://gw.example/a?b",
  },
  {
    quote: "the port is added when it is that of the other scheme",
    config: { port: 443, scheme: "http" },
    location: "http://gw.example:443/a?b",
  },
  {
    quote: "The modified path is then used to construct the `Location` header",
    config: { path: { type: "ReplaceFullPath", replaceFullPath: "/new" } },
    location: "http://gw.example/new?b",
  },
  {
    quote:
      'a request to "/foo/bar" with a prefix match of "/foo" and a ReplacePrefixMatch of "/xyz" would be modified to "/xyz/bar"',
    config: {
      path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/xyz" },
    },
    request: { target: "/foo/bar", matchedPrefix: "/foo" },
    location: "http://gw.example/xyz/bar",
  },
  {
    quote: "the brackets of an IPv6 address stay",
    config: {},
    request: { authority: "[::1]:3000" },
    port: 3000,
    location: "http://[::1]:3000/a?b",
  },
];
for (const { quote, config, request = {}, port = 80, location } of cases) {
  Deno.test(`request redirect to ${location}: "${quote}"`, async () => {
    const policy = createRequestRedirect({ statusCode: 302, ...config }, port);
    const { headers } = await answer(
      policy,
      context({ target: "/a?b", ...request }),
    );
    assert.equal(headers.get("location"), location);
  });
}

for (const statusCode of [301, 302, 303, 307, 308] as const) {
  Deno.test(`request redirect answers ${statusCode} without body`, async () => {
    const { status, body } = await answer(
      createRequestRedirect({ statusCode }, 80),
      context({}),
    );
    assert.equal(status, statusCode);
    assert.equal(body, undefined);
  });
}
