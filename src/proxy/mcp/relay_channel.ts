import { createHash } from "node:crypto";
import type { Caller } from "../../identity/backend_tokens/backend_credentials.ts";
import type { ServerChange } from "../../mcp/clients/changes.ts";

/** Header fields as workers send them. */
export type Fields = [name: string, value: string][];

/** A message between workers. */
export type RelayMessage =
  & { readonly to: number; readonly from: number; readonly id: number }
  & (
    | {
      readonly kind: "request";
      readonly backend: string;
      readonly method: string;
      readonly headers: Fields;
      readonly text: string;
      readonly user: string;
      readonly owners: readonly string[];
      /** The user, at servers that see who that is. */
      readonly caller: Caller | undefined;
      /** The rules of the route hide tools. */
      readonly hidesTools: boolean;
    }
    | {
      readonly kind: "judge";
      readonly question: number;
      readonly names: readonly string[];
    }
    | {
      readonly kind: "verdicts";
      readonly question: number;
      readonly isSeen: readonly boolean[];
    }
    | {
      readonly kind: "change";
      readonly endpoint: string;
      readonly change: ServerChange;
      /** Time, in milliseconds since the epoch; `undefined` for what a late worker has repeated. */
      readonly sentAt: number | undefined;
    }
    | { readonly kind: "end" | "leave" | "failed" }
    | { readonly kind: "accepted" | "started"; readonly instance: string }
    | {
      readonly kind: "head";
      readonly status: number;
      readonly headers: Fields;
    }
    | { readonly kind: "part"; readonly text: string }
  );

/** Receiver of messages for all workers. */
export const ALL = 0;

/** Carries messages between the workers of one gateway. */
export class RelayChannel {
  readonly #worker: number;
  readonly #channel: BroadcastChannel;

  /**
   * @param secret Names the channel: other gateways of the process have others.
   * @param receive Takes the messages to this worker.
   */
  constructor(
    secret: string,
    worker: number,
    receive: (message: RelayMessage) => void,
  ) {
    this.#worker = worker;
    const name = createHash("sha256").update(`mcp relay ${secret}`);
    this.#channel = new BroadcastChannel(name.digest("base64url"));
    this.#channel.onmessage = ({ data }: MessageEvent<RelayMessage>) => {
      if (data.to === worker || data.to === ALL) receive(data);
    };
  }

  /** Sends a message to a worker, or to `ALL`. */
  post(
    to: number,
    id: number,
    content:
      & { readonly kind: RelayMessage["kind"] }
      & Readonly<Record<string, unknown>>,
  ): void {
    try {
      this.#channel.postMessage({ to, from: this.#worker, id, ...content });
    } catch (error) {
      // The gateway stops: the other worker learns of it by itself.
      if (!(error instanceof DOMException)) throw error;
    }
  }

  /** Ends the channel. */
  close(): void {
    this.#channel.close();
  }
}
