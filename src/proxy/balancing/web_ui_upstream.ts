import { GatewayError } from "../../base/errors.ts";
import type { UpstreamRequest } from "../../http/client/upstream.ts";
import type { Body } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { WebUiAccess } from "../../snapshot/backend.ts";
import type { AttemptTarget, Destination } from "./attempt_target.ts";

/** Handles requests to the web UI on a gateway; `signal` of the request aborts when the client leaves. */
export type WebUiHandler = (
  request: Request,
  access: WebUiAccess,
) => Promise<Response>;

/**
 * Creates a destination that serves the web UI, so that policies apply to it as to any other.
 * Request bodies are not read: the page sends queries.
 * @throws {GatewayError} `invalid_backend` when this process has no web UI.
 */
export function createWebUi(
  handler: WebUiHandler | undefined,
  access: WebUiAccess,
): Destination {
  if (handler === undefined) {
    const message = "Cannot serve the web UI: this process has none";
    throw new GatewayError("invalid_backend", "gateway", message);
  }
  const target: AttemptTarget = {
    label: "web-ui:0",
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
  return {
    retries: undefined,
    prepare: () => undefined,
    choose: () => target,
    hasAnother: () => false,
    connectFailed: () => {},
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
    const message =
      "Cannot send the request to the web UI: it is not a valid request for it";
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
    // The source of the stream cannot report an error any more.
    this.#reader.cancel(reason).catch(() => {});
  }
}
