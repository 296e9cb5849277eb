import http from "node:http";
import https from "node:https";
import { protectedHeaders } from "../../../src/base/wire/protected_headers.ts";
import type { PortAddress } from "../../../src/dataplane/calls/descriptions.ts";
import type { PlaygroundRequest, RelayedResponse } from "./relayed.ts";

/**
 * Sends a request to a listener of this gateway; its URL gives only `Host`, the path and the name for TLS. The certificate is the
 * gateway's own and is not verified.
 */
export function sendToListener(
  { hostname, port, isTls }: PortAddress,
  { url, method, headers, body }: PlaygroundRequest,
  signal: AbortSignal,
): Promise<RelayedResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<RelayedResponse>();
  const options = {
    host: connectableHost(hostname),
    port,
    method,
    path: url.pathname + url.search,
    headers: {
      "accept-encoding": "identity",
      ...withoutOwn(headers),
      host: url.host,
      ...(body === undefined
        ? {}
        : { "content-length": String(new TextEncoder().encode(body).length) }),
    },
    agent: false as const,
    signal,
  };
  const sent = isTls
    ? https.request({
      ...options,
      servername: url.hostname,
      rejectUnauthorized: false,
    })
    : http.request(options);
  sent.on("response", (response) =>
    resolve({
      status: response.statusCode ?? 0,
      headers: pairs(response.rawHeaders),
      body: response,
    }));
  sent.on("error", reject);
  sent.end(body);
  return promise;
}

function withoutOwn(
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) =>
      [name.toLowerCase(), value] as const
    ).filter(([name]) => !protectedHeaders.has(name)),
  );
}

/** Returns an address that accepts connections to a socket that is bound to all of them. */
function connectableHost(hostname: string): string {
  if (hostname === "0.0.0.0") return "127.0.0.1";
  return hostname === "::" ? "::1" : hostname;
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), flat[index + 1] ?? ""]] : []
  );
}
