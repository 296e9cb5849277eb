import { Buffer } from "node:buffer";
import {
  type FieldBlock,
  HeaderDecoder,
} from "../../../src/http/http2/hpack/header_decoder.ts";
import {
  FRAME_FLAGS,
  FRAME_TYPES,
  PREFACE,
} from "../../../src/http/http2/frames/http2_protocol.ts";
import { type Transport, writeAll } from "../../../src/http/transport.ts";

const { endStream, endHeaders, ack } = FRAME_FLAGS;

/** A frame as it came over the wire. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Uint8Array;
}

/** Pseudo-header fields of `GET http://a/`. */
export const GET: readonly (readonly [string, string])[] = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/"],
  [":authority", "a"],
];

/** The same for POST. */
export const POST: readonly (readonly [string, string])[] = [
  [":method", "POST"],
  ...GET.slice(1),
];

/** A frame (RFC 9113 section 4.1). */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: ArrayLike<number> = [],
): Uint8Array {
  const bytes = Buffer.alloc(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}

/** A header block of literals, neither indexed nor compressed. */
export function block(
  fields: readonly (readonly [string, string])[],
): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const [name, value] of fields) {
    parts.push(Uint8Array.of(0), text(name), text(value));
  }
  return Buffer.concat(parts);
}

function text(value: string): Uint8Array {
  const { length } = value;
  const prefix = length < 127
    ? [length]
    : [127, ((length - 127) & 127) | 128, (length - 127) >> 7];
  return Buffer.concat([Uint8Array.from(prefix), Buffer.from(value, "latin1")]);
}

/** HEADERS with those fields. */
export function headers(
  stream: number,
  fields: readonly (readonly [string, string])[],
  ends = true,
): Uint8Array {
  const flags = endHeaders | (ends ? endStream : 0);
  return frame(FRAME_TYPES.headers, flags, stream, block(fields));
}

/** DATA with that text. */
export function data(stream: number, content: string, ends = true): Uint8Array {
  const payload = Buffer.from(content, "latin1");
  return frame(FRAME_TYPES.data, ends ? endStream : 0, stream, payload);
}

/** Four bytes, big-endian. */
export function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** SETTINGS with those identifiers and values. */
export function settings(
  ...pairs: readonly (readonly [number, number])[]
): Uint8Array {
  const payload = pairs.flatMap(([id, value]) => [0, id, ...uint32(value)]);
  return frame(FRAME_TYPES.settings, 0, 0, payload);
}

/** A client of HTTP/2 that sends exactly the frames it is told to. */
export class Http2Client implements Disposable {
  readonly transport: Transport;
  readonly #decoder = new HeaderDecoder();
  #input = Buffer.alloc(0);
  #isClosed = false;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** Connects and sends the preface with empty settings, and acknowledges those of the server. */
  static async connect(port: number, ca?: string): Promise<Http2Client> {
    const client = new Http2Client(
      ca === undefined
        ? await Deno.connect({ hostname: "127.0.0.1", port })
        : await connectTls(port, ca),
    );
    await client.send(Buffer.from(PREFACE), settings());
    await client.send(frame(FRAME_TYPES.settings, ack, 0));
    return client;
  }

  async send(...frames: readonly Uint8Array[]): Promise<void> {
    await writeAll(this.transport, Buffer.concat(frames));
  }

  /** Drops bytes in front of the frames, such as the preface that a server gets. */
  async skip(count: number): Promise<void> {
    while (this.#input.length < count && await this.#fill());
    this.#input = this.#input.subarray(count);
  }

  /** The next frame; `undefined` at the end of the connection. */
  async next(): Promise<Frame | undefined> {
    while (this.#input.length < 9 || this.#input.length < 9 + this.#length()) {
      if (!await this.#fill()) return undefined;
    }
    const end = 9 + this.#length();
    const bytes = this.#input.subarray(0, end);
    this.#input = this.#input.subarray(end);
    return {
      type: bytes[3] ?? 0,
      flags: bytes[4] ?? 0,
      stream: bytes.readUInt32BE(5),
      payload: new Uint8Array(bytes.subarray(9)),
    };
  }

  /** The next frame of that type, others skipped. */
  async receive(type: number, stream?: number): Promise<Frame> {
    for (;;) {
      const frame = await this.next();
      if (frame === undefined) throw new Error("The connection was closed");
      const isWanted = stream === undefined || frame.stream === stream;
      if (frame.type === type && isWanted) return frame;
    }
  }

  /** The fields of the next header block on that stream; blocks of other streams must not come before. */
  async fields(stream: number): Promise<FieldBlock["fields"]> {
    const { payload } = await this.receive(FRAME_TYPES.headers, stream);
    const limits = { maxBytes: 65_536, maxFields: 200 };
    return this.#decoder.decode(payload, 0, payload.length, limits).fields;
  }

  /** Returns the end of the connection or a stream: `"goaway 1"`, `"reset 3 1"`, `"closed"`. */
  async verdict(): Promise<string> {
    for (;;) {
      const frame = await this.next();
      if (frame === undefined) return "closed";
      const view = Buffer.from(frame.payload);
      if (frame.type === FRAME_TYPES.goAway) {
        return `goaway ${view.readUInt32BE(4)}`;
      }
      if (frame.type === FRAME_TYPES.rstStream) {
        return `reset ${frame.stream} ${view.readUInt32BE(0)}`;
      }
    }
  }

  /** Reads until the server closes the connection. */
  async closed(): Promise<void> {
    while (await this.next() !== undefined);
  }

  /** Hangs up; harmless when that was done. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.transport.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #fill(): Promise<boolean> {
    const chunk = Buffer.alloc(65_536);
    let count: number | null = null;
    try {
      count = await this.transport.read(chunk);
    } catch {
      // A reset ends the connection as well.
    }
    if (count === null) return false;
    this.#input = Buffer.concat([this.#input, chunk.subarray(0, count)]);
    return true;
  }

  #length(): number {
    return this.#input.readUIntBE(0, 3);
  }
}

/** `node:tls` would read on without being asked, into memory that nobody bounds. */
async function connectTls(port: number, ca: string): Promise<Transport> {
  return await Deno.connectTls({
    hostname: "localhost",
    port,
    caCerts: [ca],
    alpnProtocols: ["h2"],
  });
}
