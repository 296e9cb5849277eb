import { Buffer } from "node:buffer";
import { freePort } from "../process/free_port.ts";

/** Handles one connection of an upstream, the `index`th since its start; afterwards the connection is closed. */
export type Script = (
  connection: RawConnection,
  index: number,
) => Promise<void>;

/** An accepted connection, controlled by a script. */
export class RawConnection {
  readonly #socket: Deno.TcpConn;
  readonly #chunk = new Uint8Array(64 * 1024);
  #received = Buffer.alloc(0);
  #closed = false;

  constructor(socket: Deno.TcpConn) {
    this.#socket = socket;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Reads the next request, head and body, as a string; throws if the connection ends before. */
  async request(): Promise<string> {
    const head = await this.head();
    const length = /^content-length: (\d+)/im.exec(head)?.[1];
    if (length !== undefined) return head + await this.take(Number(length));
    if (/^transfer-encoding: chunked/im.test(head)) {
      return head + await this.#chunks();
    }
    return head;
  }

  /** Reads the head of the next request. */
  head(): Promise<string> {
    return this.#takeUntil("\r\n\r\n");
  }

  /** Reads the next bytes. */
  async take(count: number): Promise<string> {
    while (this.#received.length < count) await this.#fill();
    return this.#cut(count);
  }

  /** Reads and discards a number of bytes. */
  async skip(count: number): Promise<void> {
    let left = count - this.#received.length;
    this.#received = Buffer.alloc(0);
    while (left > 0) {
      const read = await this.#socket.read(this.#chunk);
      if (read === null) {
        throw new Deno.errors.UnexpectedEof("The gateway closed");
      }
      left -= read;
    }
  }

  /** Writes each piece separately. */
  async send(...pieces: (string | Uint8Array)[]): Promise<void> {
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await turn();
      let bytes = typeof piece === "string"
        ? Buffer.from(piece, "latin1")
        : piece;
      while (bytes.length > 0) {
        bytes = bytes.subarray(await this.#socket.write(bytes));
      }
    }
  }

  /** Closes the write side and continues reading. */
  async closeWrite(): Promise<void> {
    await this.#socket.closeWrite();
  }

  /** Resolves when the gateway closes its side; received bytes are discarded. */
  async closedByPeer(): Promise<void> {
    try {
      while (await this.#socket.read(this.#chunk) !== null);
    } catch {
      // Reset or closed by the test: closed in both cases.
    }
  }

  /** Closes with a reset if the request has more than one byte. */
  async reset(): Promise<void> {
    await this.#socket.read(new Uint8Array(1));
    this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.close();
  }

  async #chunks(): Promise<string> {
    let text = "";
    for (;;) {
      const line = await this.#takeUntil("\r\n");
      const size = parseInt(line, 16);
      text += line;
      if (size === 0) break;
      text += await this.take(size + 2);
    }
    for (let line = ""; line !== "\r\n"; text += line) {
      line = await this.#takeUntil("\r\n");
    }
    return text;
  }

  async #takeUntil(mark: string): Promise<string> {
    for (;;) {
      const index = this.#received.indexOf(mark, 0, "latin1");
      if (index >= 0) return this.#cut(index + mark.length);
      await this.#fill();
    }
  }

  async #fill(): Promise<void> {
    const count = await this.#socket.read(this.#chunk);
    if (count === null) {
      throw new Deno.errors.UnexpectedEof("The gateway closed the connection");
    }
    this.#received = Buffer.concat([
      this.#received,
      this.#chunk.subarray(0, count),
    ]);
  }

  #cut(count: number): string {
    const text = this.#received.toString("latin1", 0, count);
    this.#received = this.#received.subarray(count);
    return text;
  }
}

/** An upstream whose connections are handled by a script. */
export class RawUpstream implements AsyncDisposable {
  readonly port: number;
  readonly #listener: Deno.TcpListener;
  readonly #connections = new Set<RawConnection>();
  readonly #tasks = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];
  #accepted = 0;

  /** @param port The port of a stopped upstream to replace. */
  constructor(script: Script, port = freePort()) {
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port });
    this.port = this.#listener.addr.port;
    this.#track(this.#accept(script));
  }

  /** The number of connections so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Stops immediately, open connections included. */
  async stop(): Promise<void> {
    this.#listener.close();
    // One may have been accepted just now, and adds a task of its own.
    while (this.#tasks.size > 0) {
      for (const connection of this.#connections) connection.close();
      await Promise.race(this.#tasks);
    }
    if (this.#failures.length > 0) {
      throw new AggregateError(this.#failures, "A script failed");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #accept(script: Script): Promise<void> {
    for await (const socket of this.#listener) {
      this.#track(
        this.#serve(script, new RawConnection(socket), this.#accepted++),
      );
    }
  }

  async #serve(
    script: Script,
    connection: RawConnection,
    index: number,
  ): Promise<void> {
    this.#connections.add(connection);
    try {
      await script(connection, index);
    } catch (error) {
      if (!isEndOfConnection(error)) this.#failures.push(error);
    } finally {
      connection.close();
      this.#connections.delete(connection);
    }
  }

  #track(work: Promise<void>): void {
    const task = work.finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }
}

/** Returns a response with this body and its length. */
export function answer(body = "ok", ...fields: string[]): string {
  const lines = [
    "HTTP/1.1 200 OK",
    ...fields,
    `Content-Length: ${body.length}`,
  ];
  return lines.join("\r\n") + "\r\n\r\n" + body;
}

function isEndOfConnection(error: unknown): boolean {
  return error instanceof Deno.errors.UnexpectedEof ||
    error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.BrokenPipe ||
    error instanceof Deno.errors.BadResource ||
    error instanceof Deno.errors.Interrupted;
}

/** Waits until written bytes arrive before the next write. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
