import { stripVTControlCharacters } from "node:util";
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log/log.ts";
import { REDACTION_MARKER } from "../../../base/redaction.ts";
import { readLines } from "./line_reader.ts";

const MAX_LINE_BYTES = 64 * 1024;
const MAX_LOGGED_LENGTH = 1024;
/** Lines of a process that are logged per second. */
const MAX_LINES = 10;
const SECOND_MS = 1000;

/** Writes what a process says on its standard error to the log, without secrets. */
export class ProcessLog {
  readonly #server: string;
  readonly #secrets: readonly string[];
  readonly #clock: Clock;
  readonly #log: Log;
  #began = -Infinity;
  #lines = 0;
  #dropped = 0;

  constructor(
    server: string,
    secrets: readonly string[],
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#server = server;
    this.#secrets = secrets;
    this.#clock = clock;
    this.#log = log;
  }

  /** Reads a stream to its end; never rejects. A process whose pipe is full would stand still. */
  async read(stream: ReadableStream<Uint8Array>): Promise<void> {
    try {
      for await (const line of readLines(stream, MAX_LINE_BYTES)) {
        this.write("An MCP server wrote to its standard error", line);
      }
    } catch (error) {
      this.#log.debug("Cannot read the standard error of an MCP server", {
        server: this.#server,
        error,
      });
      await stream.pipeTo(new WritableStream()).catch(() => {});
    }
  }

  /** Logs a line of the process, unless it writes too many. */
  write(message: string, line: string): void {
    const now = this.#clock.monotonic();
    if (now - this.#began >= SECOND_MS) {
      this.#began = now;
      this.#lines = 0;
    }
    if (++this.#lines > MAX_LINES) {
      this.#dropped++;
      return;
    }
    const dropped = this.#dropped > 0 ? this.#dropped : undefined;
    this.#dropped = 0;
    // First, as a secret may have colors within.
    const plain = stripVTControlCharacters(line);
    const text = this.#redact(plain).slice(0, MAX_LOGGED_LENGTH);
    this.#log.info(message, { server: this.#server, text, dropped });
  }

  #redact(line: string): string {
    return this.#secrets.reduce(
      (text, secret) => text.replaceAll(secret, REDACTION_MARKER),
      line,
    );
  }
}
