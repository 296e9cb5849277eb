/** Sends requests through the admin server to listeners of this gateway: the page itself may call no other origin. */
import { blocksOf, partsOf, request } from "../../server/api.ts";

/** A route to try. */
export interface Target {
  /** Port of the listener, as configured. */
  readonly port: number;
  readonly url: string;
}

/** A request to a listener; without a port, to an endpoint of an identity provider of the configuration. */
export interface RelayRequest {
  readonly port?: number | undefined;
  readonly url: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A response as the listener sent it. */
export interface Relayed {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it comes. */
  readonly parts: AsyncGenerator<string>;
}

/** Sends the requests of a client, and shows them by their titles. */
export interface Sender {
  /** Sends a request. @throws {Error} When there is no response. */
  send(title: string, wanted: RelayRequest): Promise<Relayed>;
}

/** Sends a request. @throws {ApiError} When there is no response. */
export async function relay(
  wanted: RelayRequest,
  signal: AbortSignal,
): Promise<Relayed> {
  const { body } = await request("playground/send", {
    method: "POST",
    body: wanted,
    signal,
  });
  const parts = partsOf(body);
  let head = "";
  while (!head.includes("\n")) {
    const { done, value } = await parts.next();
    if (done) throw new TypeError("the response ended before its head");
    head += value;
  }
  const end = head.indexOf("\n");
  const { status, headers }: {
    readonly status: number;
    readonly headers: [string, string][];
  } = JSON.parse(head.slice(0, end));
  return {
    status,
    headers: new Headers(headers),
    parts: concat([head.slice(end + 1)], parts),
  };
}

/** Reads a body to its end. */
export async function textOf({ parts }: Relayed): Promise<string> {
  let text = "";
  for await (const part of parts) text += part;
  return text;
}

/** Yields the data of server-sent events; the last one may have no end. */
export async function* eventsOf({ parts }: Relayed): AsyncGenerator<string> {
  for await (const block of blocksOf(concat(parts, ["\n\n"]))) {
    const data = block.split(/\r?\n/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5).replace(/^ /, "")).join("\n");
    if (data !== "") yield data;
  }
}

async function* concat(
  ...all: readonly (AsyncIterable<string> | Iterable<string>)[]
): AsyncGenerator<string> {
  for (const parts of all) yield* parts;
}
