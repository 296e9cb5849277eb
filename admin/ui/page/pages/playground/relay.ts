/** Sends requests through the admin server to listeners of this gateway: the page itself may call no other origin. */
import { request } from "../../server/api.ts";

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
  const parts = decodeParts(body);
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
    parts: joined(head.slice(end + 1), parts),
  };
}

/** Reads a body to its end. */
export async function textOf({ parts }: Relayed): Promise<string> {
  let text = "";
  for await (const part of parts) text += part;
  return text;
}

/** Yields the data of server-sent events. */
export async function* eventsOf({ parts }: Relayed): AsyncGenerator<string> {
  let rest = "";
  for await (const part of parts) {
    const blocks = (rest + part).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = dataOf(block);
      if (data !== "") yield data;
    }
  }
  const data = dataOf(rest);
  if (data !== "") yield data;
}

function dataOf(block: string): string {
  return block.split(/\r?\n/).filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).replace(/^ /, "")).join("\n");
}

async function* decodeParts(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

async function* joined(
  first: string,
  parts: AsyncGenerator<string>,
): AsyncGenerator<string> {
  if (first !== "") yield first;
  yield* parts;
}
