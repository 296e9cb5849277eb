/**
 * A unary gRPC call over an HTTP/2 session (gRPC, "gRPC over HTTP2").
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
} from "node:http2";
import type { Clock } from "../base/clock.ts";

/** One call. */
export interface UnaryCall {
  /** May still be connecting; the time for that counts. */
  readonly session: Promise<ClientHttp2Session>;
  readonly authority: string;
  /** Such as `/package.Service/Method`. */
  readonly path: string;
  readonly message: Uint8Array;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** No answer came in time. */
export class CallTimeout extends Error {
  override readonly name = "CallTimeout";
}

/** Flag and length before a message. */
const PREFIX_BYTES = 5;
const MAX_ANSWER_BYTES = 256 * 1024;
const CANCEL = 8;

/** Sends a message and returns the message that answers it; rejects with `CallTimeout` or whatever went wrong. */
export function callUnary(call: UnaryCall): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream | undefined;
    let isLate = false;
    const cancelTimer = call.clock.setTimer(() => {
      isLate = true;
      stream?.close(CANCEL);
      reject(new CallTimeout(`no answer within ${call.timeoutMs} ms`));
    }, call.timeoutMs);

    async function send(): Promise<Uint8Array> {
      const session = await call.session;
      if (isLate) throw new Error("too late");
      stream = openStream(session, call);
      return await readAnswer(stream);
    }
    send().then(resolve, reject).finally(cancelTimer);
  });
}

function openStream(
  session: ClientHttp2Session,
  { authority, path, message, timeoutMs }: UnaryCall,
): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":authority": authority,
    ":path": path,
    "content-type": "application/grpc",
    "grpc-timeout": `${timeoutMs}m`,
    te: "trailers",
  });
  const frame = Buffer.alloc(PREFIX_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  stream.end(frame);
  return stream;
}

function readAnswer(stream: ClientHttp2Stream): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on("response", (headers) => head = headers);
    stream.on("trailers", (headers) => trailers = headers);
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= PREFIX_BYTES + MAX_ANSWER_BYTES) return chunks.push(chunk);
      reject(new Error(`the answer exceeds ${MAX_ANSWER_BYTES} bytes`));
      stream.close(CANCEL);
    });
    stream.on("error", reject);
    stream.on("close", () => {
      try {
        checkStatus({ ...head, ...trailers });
        resolve(unwrap(Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    });
  });
}

function checkStatus(headers: IncomingHttpHeaders): void {
  const { "grpc-status": status, "grpc-message": message } = headers;
  if (status === "0") return;
  if (status !== undefined) {
    throw new Error(`gRPC status ${status}: ${decodePercents(message)}`);
  }
  const httpStatus = headers[":status"];
  throw new Error(
    httpStatus === undefined
      ? "the connection was lost"
      : `no gRPC status, HTTP status ${httpStatus}`,
  );
}

function decodePercents(text: IncomingHttpHeaders[string]): string {
  return String(text ?? "").replace(
    /%([\da-f]{2})/gi,
    (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** The message after its prefix; never compressed, since no encoding was offered. */
function unwrap(frame: Buffer): Uint8Array {
  const length = frame.length - PREFIX_BYTES;
  if (length < 0 || frame[0] !== 0 || frame.readUInt32BE(1) !== length) {
    throw new Error("the answer is no single gRPC message");
  }
  return frame.subarray(PREFIX_BYTES);
}
