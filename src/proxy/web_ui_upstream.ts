import { GatewayError } from "../base/errors.ts";
import type { Upstream, UpstreamRequest } from "../http/client/upstream.ts";
import type { Body } from "../http/body.ts";
import { HeaderList } from "../http/header_list.ts";
import type { ResponseMessage } from "../http/message.ts";
import type { WebUiAccess } from "../snapshot/snapshot.ts";

/** Answers what a gateway is asked of the web UI; `signal` of the request aborts when the client is gone. */
export type WebUiHandler = (
  request: Request,
  access: WebUiAccess,
) => Promise<Response>;

/**
 * The web UI as if it were an upstream, so that policies stand in front of it as they do of any other.
 * Bodies are not read: the page asks with queries.
 * @throws {GatewayError} `invalid_backend` where there is no web UI.
 */
export function createWebUi(
  handler: WebUiHandler | undefined,
  access: WebUiAccess,
): Pick<Upstream, "send"> {
  if (handler === undefined) {
    const message = "Cannot serve the web UI: this process has none";
    throw new GatewayError("invalid_backend", "gateway", message);
  }
  return {
    async send(message, body, cancellation) {
      const left = new AbortController();
      const unsubscribe = cancellation.onCancel((reason) => left.abort(reason));
      try {
        body?.cancel(undefined);
        const response = await handler(
          toRequest(message, left.signal),
          access,
        );
        if (response.body === null) unsubscribe();
        return toMessage(response, unsubscribe);
      } catch (error) {
        unsubscribe();
        throw error;
      }
    },
  };
}

function toMessage(
  { status, headers, body }: Response,
  finished: () => void,
): ResponseMessage {
  return {
    status,
    headers: HeaderList.from(headers),
    body: body === null
      ? undefined
      : new StreamBody(body.getReader(), finished),
  };
}

function toRequest(
  { method, authority, target, headers }: UpstreamRequest,
  signal: AbortSignal,
): Request {
  try {
    return new Request(`http://${authority}${target}`, {
      method,
      headers: Array.from(headers, ([name, value]) => [name, value]),
      signal,
    });
  } catch (cause) {
    const message = "Cannot ask the web UI: the request is none that it knows";
    throw new GatewayError("bad_request", "downstream", message, { cause });
  }
}

class StreamBody implements Body {
  readonly length = undefined;
  readonly trailers = undefined;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #finished: () => void;

  constructor(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    finished: () => void,
  ) {
    this.#reader = reader;
    this.#finished = finished;
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const { value } = await this.#reader.read();
      if (value === undefined) {
        this.#finished();
        return undefined;
      }
      if (value.length > 0) return value;
    }
  }

  cancel(reason: unknown): void {
    this.#finished();
    // Whoever feeds the stream has nothing to say about its end.
    this.#reader.cancel(reason).catch(() => {});
  }
}
