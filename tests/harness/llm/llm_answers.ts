import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";

/** Formats events as `text/event-stream`; with `event:` where they have a type. */
export function eventStream(
  events: readonly Readonly<Record<string, unknown>>[],
): Response {
  const text = events.map((event) => {
    const { type } = event;
    const name = typeof type === "string" ? `event: ${type}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  }).join("");
  return new Response(text, {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
  });
}

/** Formats events as Bedrock streams them: pairs of a type and a payload. */
export function awsEventStream(
  events: readonly (readonly [string, unknown])[],
): Response {
  const messages = events.map(([type, payload]) => awsMessage(type, payload));
  return new Response(new Uint8Array(Buffer.concat(messages)), {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
  });
}

function awsMessage(type: string, payload: unknown): Uint8Array {
  const header = (name: string, value: string) => {
    const bytes = Buffer.alloc(name.length + value.length + 4);
    bytes.writeUInt8(name.length, 0);
    bytes.write(name, 1);
    bytes.writeUInt8(7, 1 + name.length);
    bytes.writeUInt16BE(value.length, 2 + name.length);
    bytes.write(value, 4 + name.length);
    return bytes;
  };
  const headers = Buffer.concat([
    header(":event-type", type),
    header(":content-type", "application/json"),
    header(":message-type", "event"),
  ]);
  const body = Buffer.from(JSON.stringify(payload));
  const length = 12 + headers.length + body.length + 4;
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headers, body]);
  const end = Buffer.alloc(4);
  end.writeUInt32BE(crc32(message), 0);
  return Buffer.concat([message, end]);
}
