import { Agent, type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";

/** A response as it came over the wire: nothing decompressed, nothing normalised. */
export interface RawResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body without its chunk framing, but still compressed. */
  readonly bytes: Uint8Array;
}

/** What `fetchRaw` sends. */
export interface RawRequest {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request over a connection of its own, without what `fetch` does to headers and compressed bodies. */
export async function fetchRaw(
  url: string,
  init: RawRequest = {},
): Promise<RawResponse> {
  const { method = "GET", headers = {}, body = "" } = init;
  const agent = new Agent({ keepAlive: true });
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, { method, headers, agent }, resolve).on("error", reject).end(
        body,
      );
    });
    const bytes = new Uint8Array(await buffer(response));
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      bytes,
    };
  } finally {
    agent.destroy();
  }
}
