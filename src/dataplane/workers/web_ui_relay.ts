import type { WebUiHandler } from "../../proxy/balancing/web_ui_upstream.ts";
import type { CallHandlers, Channel } from "../state/channel.ts";
import type { ControlCalls, WebUiCalls, WorkerCalls } from "./protocol.ts";

/** A response on its way to a worker. */
interface OpenResponse {
  readonly client: AbortController;
  reader?: ReadableStreamDefaultReader<Uint8Array>;
}

/** Handles requests of one worker to the web UI, which the control thread serves. */
export class WebUiRelay {
  readonly handlers: CallHandlers<WebUiCalls>;
  readonly #open = new Map<number, OpenResponse>();

  constructor(webUi: WebUiHandler) {
    this.handlers = {
      openWebUi: async (id, { url, method, headers }, access) => {
        const client = new AbortController();
        const open: OpenResponse = { client };
        this.#open.set(id, open);
        const { signal } = client;
        const request = new Request(url, { method, headers, signal });
        const response = await webUi(request, access);
        const reader = response.body?.getReader();
        if (reader === undefined) this.#open.delete(id);
        else open.reader = reader;
        return {
          status: response.status,
          headers: [...response.headers],
          hasBody: reader !== undefined,
        };
      },
      readWebUi: async (id) => {
        const { value } = await this.#open.get(id)?.reader?.read() ?? {};
        if (value === undefined) this.#open.delete(id);
        return value;
      },
      closeWebUi: (id) => this.#close(id),
    };
  }

  /** Ends all responses, because the worker has ended. */
  close(): void {
    for (const id of [...this.#open.keys()]) this.#close(id);
  }

  #close(id: number): void {
    const open = this.#open.get(id);
    this.#open.delete(id);
    open?.client.abort();
    // Its source cannot report an error any more.
    open?.reader?.cancel().catch(() => {});
  }
}

/** Creates the web UI of a worker: the control thread handles its requests. */
export function createRemoteWebUi(
  control: Pick<Channel<ControlCalls, WorkerCalls>, "call" | "notify">,
): WebUiHandler {
  let lastId = 0;
  return async ({ url, method, headers, signal }, access) => {
    const id = ++lastId;
    const leave = () => control.notify("closeWebUi", id);
    signal.addEventListener("abort", leave);
    const head = { url, method, headers: [...headers] };
    const response = await control.call("openWebUi", id, head, access);
    const body = response.hasBody
      ? new ReadableStream<Uint8Array>({
        async pull(controller) {
          const chunk = await control.call("readWebUi", id);
          if (chunk === undefined) controller.close();
          else controller.enqueue(chunk);
        },
        cancel: leave,
      }, { highWaterMark: 0 })
      : null;
    const { status, headers: fields } = response;
    return new Response(body, { status, headers: fields });
  };
}
