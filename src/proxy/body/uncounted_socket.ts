import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import { readPathModel } from "../../llm/llm_api.ts";
import type { UsageMeter } from "./usage_meter.ts";

/** Reports a WebSocket on a route with a budget whose tokens nobody counts. */
export class UncountedSocket implements UsageMeter {
  readonly api: undefined;
  readonly usage: undefined;
  readonly firstOutputAt: undefined;
  readonly counting: undefined;
  readonly cancellation: undefined;
  readonly countsParts = false;
  readonly closedBy: undefined;
  #model: string | undefined;
  #isOpen = false;

  get uncounted(): { readonly model: string | undefined } | undefined {
    return this.#isOpen ? { model: this.#model } : undefined;
  }

  prepare({ target }: RequestMessage): undefined {
    this.#model = readPathModel(target);
  }

  watch({ tunnel }: ResponseMessage): void {
    this.#isOpen = tunnel !== undefined;
  }

  /** Does nothing: nothing is charged. */
  abandon(): void {}
}
