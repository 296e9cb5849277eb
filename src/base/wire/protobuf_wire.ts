/** The only file that knows the wire format of @bufbuild/protobuf: reads and writes fields of protobuf messages. */
export { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
