/** A message between two threads of one program. */
export type Message =
  /** A call; `id` is 0 when nobody waits for the result. */
  | {
    readonly type: "call";
    readonly id: number;
    readonly name: string;
    readonly args: readonly unknown[];
  }
  | {
    readonly type: "result";
    readonly id: number;
    readonly value: unknown;
  }
  | {
    readonly type: "error";
    readonly id: number;
    readonly message: string;
  };

/** Returns a message as its type: both threads run the same program, which has checked it. */
export function decodeMessage(data: unknown): Message {
  return data as Message;
}

/** Returns what another thread of the program, or a copy of its fields, has as the type that both have agreed on. */
export function decodeShared<T>(value: unknown): T {
  return value as T;
}
