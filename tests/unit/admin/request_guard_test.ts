import assert from "node:assert/strict";
import { guard } from "../../../admin/http/request_guard.ts";

interface Case {
  readonly host?: string;
  readonly origin?: string;
  readonly bound?: readonly string[];
  /** `Sec-Fetch-Site` and `Sec-Fetch-Dest`. */
  readonly fetch?: readonly [site: string, destination: string];
  readonly method?: string;
  readonly path?: string;
}

function isRejected(
  {
    host = "localhost:15000",
    origin,
    bound = ["127.0.0.1", "::1"],
    fetch,
    method = "GET",
    path = "/",
  }: Case,
): boolean {
  const headers = new Headers({ host });
  if (origin !== undefined) headers.set("origin", origin);
  if (fetch !== undefined) {
    headers.set("sec-fetch-site", fetch[0]);
    headers.set("sec-fetch-dest", fetch[1]);
  }
  const response = guard(
    new Request(`http://localhost:15000${path}`, { method, headers }),
    bound,
  );
  assert.ok(response === undefined || response.status === 403);
  return response !== undefined;
}

const passing: readonly Case[] = [
  { host: "localhost" },
  { host: "LOCALHOST:1" },
  { host: "127.0.0.1:15000" },
  { host: "[::1]" },
  { host: "[::1]:15000" },
  { host: "10.0.0.7:15000", bound: ["10.0.0.7"] },
  { host: "10.0.0.7:15000", bound: ["0.0.0.0"] },
  { host: "[2001:db8::1]:15000", bound: ["::"] },
  { origin: "http://localhost:15000" },
  { origin: "http://localhost:3000" },
  { origin: "http://127.0.0.1:8080" },
  { origin: "http://[::1]:8080" },
  {
    host: "10.0.0.7:15000",
    bound: ["0.0.0.0"],
    origin: "http://10.0.0.7:15000",
  },
  { fetch: ["none", "document"] },
  { fetch: ["same-origin", "empty"] },
  { fetch: ["cross-site", "document"] },
  { fetch: ["same-site", "document"] },
  { fetch: ["cross-site", "document"], path: "/ui" },
  { fetch: ["cross-site", "document"], path: "/ui/callback" },
  { fetch: ["none", "document"], path: "/debug/pprof/heap" },
  {
    origin: "http://localhost:15000",
    fetch: ["same-origin", "empty"],
    method: "POST",
  },
];

for (const example of passing) {
  Deno.test(`guard accepts ${JSON.stringify(example)}`, () => {
    assert.equal(isRejected(example), false);
  });
}

const rejected: readonly Case[] = [
  { host: "evil.example.com" },
  { host: "evil.example.com:15000" },
  { host: "localhost.evil.example.com" },
  { host: "127.0.0.1.evil.example.com" },
  { host: "127.0.0.1@evil.example.com" },
  { host: "evil.example.com:15000", bound: ["0.0.0.0"] },
  { host: "10.0.0.7:15000" },
  { host: "[2001:db8::1]:15000" },
  { host: "" },
  { host: "localhost:port" },
  { host: "a:b:c" },
  { origin: "https://evil.example.com" },
  { origin: "http://localhost.evil.example.com" },
  { origin: "null" },
  { origin: "" },
  { origin: "file://localhost" },
  { origin: "http://localhost/path" },
  {
    host: "10.0.0.7:15000",
    bound: ["0.0.0.0"],
    origin: "http://10.0.0.7:8080",
  },
  { fetch: ["cross-site", "image"] },
  { fetch: ["cross-site", "iframe"] },
  { fetch: ["cross-site", "empty"] },
  { fetch: ["same-site", "image"] },
  { fetch: ["cross-site", "document"], path: "/debug/pprof/heap" },
  { fetch: ["same-site", "document"], path: "/debug/pprof/profile" },
  { origin: "https://evil.example.com", fetch: ["cross-site", "document"] },
  {
    origin: "http://localhost:3000",
    fetch: ["same-site", "document"],
    method: "POST",
  },
  {
    origin: "http://127.0.0.1:3000",
    fetch: ["cross-site", "empty"],
    method: "POST",
  },
];

for (const example of rejected) {
  Deno.test(`guard rejects ${JSON.stringify(example)}`, () => {
    assert.equal(isRejected(example), true);
  });
}
