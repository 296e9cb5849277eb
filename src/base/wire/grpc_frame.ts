/** Length of the flag and the length before a message. */
const PREFIX_BYTES = 5;

/** Returns a message of a unary gRPC call with its prefix, not compressed. */
export function frameMessage(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(PREFIX_BYTES + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/**
 * Returns the message after its prefix; never compressed, where no encoding was offered.
 * @throws {Error} When the frame is not that of a single message.
 */
export function unframeMessage(frame: Uint8Array): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const length = frame.length - PREFIX_BYTES;
  if (length < 0 || frame[0] !== 0 || view.getUint32(1) !== length) {
    throw new Error("the response is not a single gRPC message");
  }
  return messageIn(frame);
}

/** Returns the message of a frame that is not checked; empty without one. */
export function messageIn(frame: Uint8Array): Uint8Array {
  return frame.subarray(PREFIX_BYTES);
}

/** Decodes `grpc-message`, the text of an error. */
export function decodeStatusMessage(text: string): string {
  return text.replace(
    /%([\da-f]{2})/gi,
    (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
