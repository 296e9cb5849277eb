import { BinaryWriter, WireType } from "../../../base/wire/protobuf_wire.ts";
import type { LogRecord } from "../../log/access_log.ts";
import {
  writeAttributes,
  writeId,
  writeText,
  writeTime,
  writeValue,
} from "./attributes_message.ts";

const severities = { info: 9, warn: 13 } as const;
const FLAG_SAMPLED = 0x1;

/** Encodes a record as `opentelemetry.proto.logs.v1.LogRecord`. @param now Milliseconds since the epoch. */
export function encodeLogRecord(record: LogRecord, now: number): Uint8Array {
  const { time, level, body, attributes, trace } = record;
  const writer = new BinaryWriter();
  writeTime(writer, 1, time);
  writer.tag(2, WireType.Varint).int32(severities[level]);
  writeText(writer, 3, level.toUpperCase());
  writeValue(writer, 5, body);
  writeAttributes(writer, 6, attributes);
  if (trace !== undefined) {
    writer.tag(8, WireType.Bit32).fixed32(trace.isSampled ? FLAG_SAMPLED : 0);
    writeId(writer, 9, trace.traceId);
    writeId(writer, 10, trace.spanId);
  }
  writeTime(writer, 11, now);
  return writer.finish();
}
