import { Buffer } from "node:buffer";

/** Bytes as text, one character for each. Not by `TextDecoder`, which reads those from 0x80 to 0x9F as Windows-1252. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString("latin1");
}
