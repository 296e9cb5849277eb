import { Buffer } from "node:buffer";

/** Size of an image in pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

const PNG = 0x89504e47;
const GIF = 0x47494638;
const RIFF = 0x52494646;
const JPEG = 0xffd8;
const MARKER = 0xff;
/** Bytes that the size of a frame needs. */
const FRAME_BYTES = 9;
const CHUNK_BYTES = 30;

/** Reads the size of an image in PNG, JPEG, GIF or WebP from its first bytes; `undefined` for other content. */
export function readImageSize(head: Uint8Array): ImageSize | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length);
  if (bytes.length < CHUNK_BYTES) return undefined;
  const magic = bytes.readUInt32BE(0);
  if (magic === PNG) {
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  }
  if (magic === GIF) {
    return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  }
  if (magic === RIFF) return readWebp(bytes);
  return magic >>> 16 === JPEG ? readJpeg(bytes) : undefined;
}

function readWebp(bytes: Buffer): ImageSize | undefined {
  switch (bytes.toString("latin1", 8, 16)) {
    case "WEBPVP8X":
      return {
        width: bytes.readUIntLE(24, 3) + 1,
        height: bytes.readUIntLE(27, 3) + 1,
      };
    case "WEBPVP8 ":
      return {
        width: bytes.readUInt16LE(26) & 0x3fff,
        height: bytes.readUInt16LE(28) & 0x3fff,
      };
    case "WEBPVP8L": {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: (bits >>> 14 & 0x3fff) + 1 };
    }
    default:
      return undefined;
  }
}

/** Searches for the segment that begins a frame. */
function readJpeg(bytes: Buffer): ImageSize | undefined {
  let at = 2;
  while (at + FRAME_BYTES <= bytes.length && bytes[at] === MARKER) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf &&
      ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) {
      const height = bytes.readUInt16BE(at + 5);
      return { width: bytes.readUInt16BE(at + 7), height };
    }
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return undefined;
}
