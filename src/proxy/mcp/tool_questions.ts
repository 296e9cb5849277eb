import type { Clock } from "../../base/clock.ts";
import type { SeesTools } from "../../mcp/servers/server_connection.ts";
import type { RelayChannel, RelayMessage } from "./relay_channel.ts";

/** Rules of another worker that take longer hide all tools. */
const JUDGE_MS = 5000;

/** Questions to the worker that has received a request: which tools its client may see. */
export class ToolQuestions {
  readonly #channel: RelayChannel;
  readonly #clock: Clock;
  /** By their numbers. */
  readonly #pending = new Map<number, (isSeen: readonly boolean[]) => void>();
  #lastId = 0;

  constructor(channel: RelayChannel, clock: Clock) {
    this.#channel = channel;
    this.#clock = clock;
  }

  /** Asks a worker about tools for its request `id`. */
  ask(
    worker: number,
    id: number,
    names: readonly string[],
  ): Promise<readonly boolean[]> {
    const question = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<readonly boolean[]>();
    this.#pending.set(question, resolve);
    const stop = this.#clock.setTimer(() => resolve([]), JUDGE_MS);
    this.#channel.post(worker, id, { kind: "judge", question, names });
    return promise.finally(() => {
      stop();
      this.#pending.delete(question);
    });
  }

  /** Answers a question of another worker. */
  async answer(
    { from, id, question, names }: Extract<RelayMessage, { kind: "judge" }>,
    sees: SeesTools | undefined,
  ): Promise<void> {
    const isSeen = await sees?.(names) ?? [];
    this.#channel.post(from, id, { kind: "verdicts", question, isSeen });
  }

  /** Takes the answer to a question of this worker. */
  take(
    { question, isSeen }: Extract<RelayMessage, { kind: "verdicts" }>,
  ): void {
    this.#pending.get(question)?.(isSeen);
  }
}
