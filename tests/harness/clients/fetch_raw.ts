import { Agent, type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";

/** A response as received, neither decompressed nor normalized. */
export interface RawResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body without chunk framing, still compressed. */
  readonly bytes: Uint8Array;
}

/** A request for `fetchRaw`. */
export interface RawRequest {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request on a new connection, without the changes of `fetch` to headers and compressed bodies. */
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
