import type { ConnectionWindow } from "./connection_window.ts";
import type { FloodGuard } from "./flood_guard.ts";
import type { FrameWriter } from "./frames/frame_writer.ts";
import { HeaderEncoder } from "./hpack/header_encoder.ts";

/** A stream that waits for room to write. */
export interface WaitingStream {
  /** Writes as much as there is room for. */
  writeMore(): void;
}

/** Shares the window of a connection, and the capacity of its transport, among the streams. */
export class StreamOutput {
  readonly #writer: FrameWriter;
  readonly #window: ConnectionWindow;
  readonly #guard: FloodGuard;
  readonly #encoder = new HeaderEncoder();
  readonly #waiting = new Set<WaitingStream>();

  constructor(
    writer: FrameWriter,
    window: ConnectionWindow,
    guard: FloodGuard,
  ) {
    this.#writer = writer;
    this.#window = window;
    this.#guard = guard;
  }

  /** Bytes of DATA that all streams together may write now. */
  get budget(): number {
    return Math.min(this.#window.toSend, this.#writer.room);
  }

  /** Begins a header block. */
  beginFields(): HeaderEncoder {
    this.#encoder.begin();
    return this.#encoder;
  }

  /** Writes the current header block. */
  writeFields(streamId: number, endStream: boolean): void {
    const { bytes, length } = this.#encoder;
    this.#guard.progress();
    this.#writer.headers(streamId, bytes, length, endStream);
  }

  /** Writes `bytes[start, end)`, at most as many as the budget. */
  writeData(
    streamId: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    endStream: boolean,
  ): void {
    this.#window.toSend -= end - start;
    this.#guard.progress();
    this.#writer.data(streamId, bytes, start, end, endStream);
  }

  widenWindow(streamId: number, increment: number): void {
    this.#writer.windowUpdate(streamId, increment);
  }

  /** Queues a stream to write again when there is room. */
  wait(stream: WaitingStream): void {
    this.#waiting.add(stream);
  }

  forget(stream: WaitingStream): void {
    this.#waiting.delete(stream);
  }

  /** Lets each queued stream write; one that still waits goes to the end of the queue. */
  resume(): void {
    for (const stream of this.#waiting) {
      if (this.budget <= 0) return;
      this.#waiting.delete(stream);
      stream.writeMore();
    }
  }
}
