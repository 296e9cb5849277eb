import type { Cancellation } from "../../base/cancellation.ts";
import type { ResponseMessage } from "../../http/message.ts";

/** Called at the end of a call; see `ObserveCall`. */
type End = (result: "ok" | "tool_error" | "error") => void;

/** A call of a tool that has been sent to its server before anything knew whether its answer is an ordinary one. */
export class BegunCall {
  #isTaken = false;

  constructor(
    /** Id of the request at the server. */
    readonly id: number,
    /** Monotonic time of the start in milliseconds. */
    readonly beganAt: number,
    readonly end: End,
    /** Ends the exchange with the server. */
    readonly cancellation: Cancellation,
    /** Head of the response, as it comes. */
    public response: Promise<ResponseMessage>,
  ) {}

  /** Returns the call to who goes on with it: the first that asks. */
  take(): this | undefined {
    if (this.#isTaken) return undefined;
    this.#isTaken = true;
    return this;
  }

  /** Ends the exchange, unless somebody goes on with it. */
  leave(): void {
    if (this.take() === undefined) return;
    const reason = new Error("Nobody waits for the call");
    this.cancellation.cancel(reason);
    this.response.then(({ body }) => body?.cancel(reason), () => {});
  }
}
