/**
 * Encodes the messages of `opentelemetry.proto.common.v1` and `opentelemetry.proto.resource.v1`.
 *
 * @module
 */
import { BinaryWriter, WireType } from "../../../base/wire/protobuf_wire.ts";
import type { Attributes, AttributeValue } from "../../spans/span.ts";

/** Longer strings are cut: clients choose some of them. */
const MAX_LENGTH = 4096;
const NANOSECONDS = 1_000n;
const MICROSECONDS = 1_000;

/** Begins a field with a length: a string, bytes or a message. */
export function lengthDelimited(
  writer: BinaryWriter,
  field: number,
): BinaryWriter {
  return writer.tag(field, WireType.LengthDelimited);
}

/** Writes a time as `fixed64` nanoseconds. @param time Milliseconds since the epoch. */
export function writeTime(
  writer: BinaryWriter,
  field: number,
  time: number,
): void {
  writer.tag(field, WireType.Bit64).fixed64(
    BigInt(Math.round(time * MICROSECONDS)) * NANOSECONDS,
  );
}

/** Writes an ID as bytes. @param id Hexadecimal. */
export function writeId(
  writer: BinaryWriter,
  field: number,
  id: string,
): void {
  lengthDelimited(writer, field).bytes(Uint8Array.fromHex(id));
}

/** Writes a string unless it is empty. */
export function writeText(
  writer: BinaryWriter,
  field: number,
  text: string,
): void {
  if (text !== "") lengthDelimited(writer, field).string(cut(text));
}

/** Writes attributes as repeated `KeyValue`. */
export function writeAttributes(
  writer: BinaryWriter,
  field: number,
  attributes: Attributes,
): void {
  for (const name in attributes) {
    const value = attributes[name];
    if (value === undefined) continue;
    lengthDelimited(writer, field).fork();
    lengthDelimited(writer, 1).string(name);
    writeValue(writer, 2, value);
    writer.join();
  }
}

/** Writes an `AnyValue`. */
export function writeValue(
  writer: BinaryWriter,
  field: number,
  value: Exclude<AttributeValue, undefined>,
): void {
  lengthDelimited(writer, field).fork();
  switch (typeof value) {
    case "string":
      lengthDelimited(writer, 1).string(cut(value));
      break;
    case "boolean":
      writer.tag(2, WireType.Varint).bool(value);
      break;
    case "number":
      if (Number.isSafeInteger(value)) {
        writer.tag(3, WireType.Varint).int64(value);
      } else writer.tag(4, WireType.Bit64).double(value);
      break;
    default:
      lengthDelimited(writer, 5).fork();
      for (const item of value) writeValue(writer, 1, item);
      writer.join();
  }
  writer.join();
}

function cut(text: string): string {
  return text.length > MAX_LENGTH
    ? text.slice(0, MAX_LENGTH).toWellFormed()
    : text;
}

/** The process that sends, and the name and version of its instrumentation. */
export interface Origin {
  readonly resource: Attributes;
  readonly scope: { readonly name: string; readonly version: string };
}

/**
 * Returns an encoder of export requests: `ExportTraceServiceRequest`, and those of metrics and logs, whose fields have the same
 * numbers.
 */
export function createEnvelope(
  { resource, scope }: Origin,
): (records: readonly Uint8Array[]) => Uint8Array {
  const encodedResource = new BinaryWriter();
  writeAttributes(encodedResource, 1, resource);
  const resourceBytes = encodedResource.finish();
  const encodedScope = new BinaryWriter();
  lengthDelimited(encodedScope, 1).string(scope.name);
  lengthDelimited(encodedScope, 2).string(scope.version);
  const scopeBytes = encodedScope.finish();
  return (records) => {
    const writer = new BinaryWriter();
    lengthDelimited(writer, 1).fork();
    lengthDelimited(writer, 1).bytes(resourceBytes);
    lengthDelimited(writer, 2).fork();
    lengthDelimited(writer, 1).bytes(scopeBytes);
    for (const record of records) lengthDelimited(writer, 2).bytes(record);
    return writer.join().join().finish();
  };
}
