import { BinaryWriter, WireType } from "../../../base/wire/protobuf_wire.ts";
import type { Span } from "../../spans/span.ts";
import {
  lengthDelimited,
  writeAttributes,
  writeId,
  writeText,
  writeTime,
} from "./attributes_message.ts";

const kinds = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
const FLAG_SAMPLED = 0x1;
const FLAG_KNOWS_REMOTE = 0x100;
const FLAG_IS_REMOTE = 0x200;

/** Encodes a span as `opentelemetry.proto.trace.v1.Span`. */
export function encodeSpan(span: Span): Uint8Array {
  const writer = new BinaryWriter();
  writeId(writer, 1, span.traceId);
  writeId(writer, 2, span.spanId);
  writeText(writer, 3, span.state);
  if (span.parentSpanId !== undefined) writeId(writer, 4, span.parentSpanId);
  writeText(writer, 5, span.name);
  writer.tag(6, WireType.Varint).int32(kinds[span.kind]);
  writeTime(writer, 7, span.startedAt);
  writeTime(writer, 8, span.endedAt);
  writeAttributes(writer, 9, span.attributes);
  for (const { traceId, spanId } of span.links) {
    lengthDelimited(writer, 13).fork();
    writeId(writer, 1, traceId);
    writeId(writer, 2, spanId);
    writer.join();
  }
  if (span.error !== undefined) {
    lengthDelimited(writer, 15).fork();
    writeText(writer, 2, span.error);
    writer.tag(3, WireType.Varint).int32(STATUS_ERROR);
    writer.join();
  }
  const flags = FLAG_SAMPLED | FLAG_KNOWS_REMOTE |
    (span.hasRemoteParent ? FLAG_IS_REMOTE : 0);
  writer.tag(16, WireType.Bit32).fixed32(flags);
  return writer.finish();
}
