import type { Clock } from "../../../base/clock.ts";
import type { Tunnel } from "../../../http/message.ts";
import type { Transport } from "../../../http/transport.ts";
import { DRAIN_MS, MAX_DRAINED_BYTES } from "../../body/metered_body.ts";

/** Reads what the backend sends through a tunnel. */
export interface TunnelReader {
  /** True if a response is in progress that is to be read to its end. */
  readonly wantsRest: boolean;
  /** Reads bytes from an offset; returns up to where the client may get them, before it is known whether the tunnel goes on. */
  push(bytes: Uint8Array, from: number): number;
  /** Returns bytes that end the tunnel in place of all further ones; `undefined` while it goes on. */
  verdict(): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Called once, when nothing more is read. */
  end(): void;
}

const DRAIN_BUFFER_BYTES = 16 * 1024;

/** The backend's side of a tunnel that is read on the way. Reads the rest of a response when the client leaves. */
export class MeteredTunnel implements Transport {
  readonly #source: Transport;
  #early: Uint8Array;
  readonly #reader: TunnelReader;
  readonly #clock: Clock;
  readonly #draining: (done: Promise<void>) => void;
  #reading: Promise<unknown> | undefined;
  /** The client has ended its side, and the backend does not know yet. */
  #mustCloseWrite = false;
  /** Last bytes for the client, which end the tunnel. */
  #farewell: Uint8Array | undefined;
  #isClosed = false;
  #isRead = false;

  /** @param draining Called with the end of reading, if that is later than that of the tunnel. */
  constructor(
    { transport, early }: Tunnel,
    reader: TunnelReader,
    { clock, draining }: {
      readonly clock: Clock;
      draining(done: Promise<void>): void;
    },
  ) {
    this.#source = transport;
    this.#early = early;
    this.#reader = reader;
    this.#clock = clock;
    this.#draining = draining;
  }

  read(into: Uint8Array): Promise<number | null> {
    if (this.#farewell !== undefined) {
      return Promise.resolve(this.#takeFarewell(into));
    }
    const reading = this.#readNext(into);
    this.#reading = reading;
    return reading;
  }

  write(bytes: Uint8Array): Promise<number> {
    // The client may still answer the farewell.
    return this.#farewell === undefined
      ? this.#source.write(bytes)
      : Promise.resolve(bytes.length);
  }

  async closeWrite(): Promise<void> {
    if (this.#farewell !== undefined) return;
    // The backend would give up the response that is in progress.
    this.#mustCloseWrite = this.#reader.wantsRest;
    if (!this.#mustCloseWrite) await this.#source.closeWrite();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#reader.wantsRest) this.#draining(this.#drain());
    else this.#end();
  }

  async #readNext(into: Uint8Array): Promise<number | null> {
    const count = await this.#fill(into);
    if (count === null) {
      this.#endReading();
      return null;
    }
    const passed = await this.#observe(into.subarray(0, count));
    if (this.#mustCloseWrite) await this.closeWrite();
    return passed;
  }

  #fill(into: Uint8Array): Promise<number | null> {
    const count = Math.min(into.length, this.#early.length);
    if (count === 0) return this.#source.read(into);
    into.set(this.#early.subarray(0, count));
    this.#early = this.#early.subarray(count);
    return Promise.resolve(count);
  }

  /** Reads bytes on their way to the client; returns how many it gets. */
  async #observe(bytes: Uint8Array): Promise<number> {
    let at = 0;
    while (at < bytes.length) {
      at = this.#reader.push(bytes, at);
      const verdict = this.#reader.verdict();
      const farewell = verdict instanceof Promise ? await verdict : verdict;
      if (farewell !== undefined) {
        this.#farewell = farewell;
        this.#end();
        break;
      }
    }
    return at;
  }

  #takeFarewell(into: Uint8Array): number | null {
    const rest = this.#farewell ?? new Uint8Array();
    if (rest.length === 0) return null;
    const part = rest.subarray(0, into.length);
    into.set(part);
    this.#farewell = rest.subarray(part.length);
    return part.length;
  }

  /** Reads the rest of the response that is in progress, within limits. */
  async #drain(): Promise<void> {
    const cancelTimer = this.#clock.setTimer(
      () => this.#source.close(),
      DRAIN_MS,
    );
    try {
      await this.#readRest();
    } catch {
      // The backend broke off, or took too long: the rest is estimated.
    } finally {
      cancelTimer();
      this.#end();
    }
  }

  async #readRest(): Promise<void> {
    const buffer = new Uint8Array(DRAIN_BUFFER_BYTES);
    // The client's read comes first.
    await this.#reading;
    let total = 0;
    while (this.#reader.wantsRest && total <= MAX_DRAINED_BYTES) {
      total += await this.#readNext(buffer) ?? 0;
    }
  }

  #end(): void {
    this.#source.close();
    this.#endReading();
  }

  #endReading(): void {
    if (this.#isRead) return;
    this.#isRead = true;
    this.#reader.end();
  }
}
