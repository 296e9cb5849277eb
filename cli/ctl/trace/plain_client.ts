import http from "node:http";
import https from "node:https";
import { describeError } from "../../../src/base/errors.ts";
import { Failure } from "../../process/exit.ts";
import type { PlainRequest } from "./curl_arguments.ts";
import { SOURCE_PORT_COUNT } from "./source_ports.ts";

/** Destination port and first source port. */
interface Ports {
  readonly port: number;
  readonly firstSourcePort: number;
}

/**
 * Sends a request to 127.0.0.1, regardless of its URL, and discards the response.
 * @throws {Failure} When there is no response.
 */
export async function sendRequest(
  request: PlainRequest,
  { port, firstSourcePort }: Ports,
  abort: AbortSignal,
): Promise<string> {
  for (let attempt = 1;; attempt++) {
    try {
      const localPort = firstSourcePort + attempt - 1;
      await sendOnce(request, { port, localPort }, abort);
      return "";
    } catch (error) {
      if (abort.aborted) return "";
      if (isInUse(error) && attempt < SOURCE_PORT_COUNT) continue;
      throw new Failure(`Cannot send the request: ${describeError(error)}`);
    }
  }
}

function isInUse(error: unknown): boolean {
  return error instanceof Error && "code" in error &&
    error.code === "EADDRINUSE";
}

function sendOnce(
  { url, method, headers, body, insecure }: PlainRequest,
  socket: { readonly port: number; readonly localPort: number },
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const options = {
    ...socket,
    host: "127.0.0.1",
    servername: url.hostname,
    rejectUnauthorized: !insecure,
    agent: false,
    method,
    path: url.pathname + url.search,
    // A flat list is sent unchanged, including repeated headers.
    headers: headers.flat(),
    setHost: false,
    signal,
  };
  const sent = url.protocol === "https:"
    ? https.request(options)
    : http.request(options);
  sent.on("response", (response) => {
    response.on("end", resolve).on("error", reject).resume();
  });
  sent.on("error", reject);
  sent.end(body);
  return promise;
}
