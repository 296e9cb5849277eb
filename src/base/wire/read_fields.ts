import { BinaryReader, WireType } from "./protobuf_wire.ts";

/** Readers of fields by number; other fields and other wire types are skipped. */
export interface FieldReaders {
  readonly numbers?: Readonly<Record<number, (value: number) => void>>;
  readonly doubles?: Readonly<Record<number, (value: number) => void>>;
  readonly messages?: Readonly<Record<number, (bytes: Uint8Array) => void>>;
}

/** Reads the fields of a protobuf message. @throws {Error} When the bytes are not a valid message. */
export function readFields(bytes: Uint8Array, readers: FieldReaders): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const readNumber = readers.numbers?.[field];
    const readDouble = readers.doubles?.[field];
    const readMessage = readers.messages?.[field];
    if (type === WireType.Varint && readNumber !== undefined) {
      readNumber(Math.max(0, Number(reader.int64())));
    } else if (type === WireType.Bit64 && readDouble !== undefined) {
      readDouble(reader.double());
    } else if (
      type === WireType.LengthDelimited && readMessage !== undefined
    ) {
      readMessage(reader.bytes());
    } else {
      reader.skip(type, field);
    }
  }
}
