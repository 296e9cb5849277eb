import { BinaryReader } from "../../../base/wire/protobuf_wire.ts";
import { describeError } from "../../../base/errors.ts";
import type { ExportResult } from "./export_result.ts";

/** Reads an `ExportTraceServiceResponse`, or those of metrics and logs: they have the same fields. */
export function readExportResponse(message: Uint8Array): ExportResult {
  try {
    return { kind: "accepted", rejected: readRejected(message) };
  } catch (error) {
    const reason = describeError(error);
    return {
      kind: "rejected",
      error: new Error(`the response is not an export response: ${reason}`),
    };
  }
}

/** Returns how many records the collector rejects: `partial_success.rejected_*`. */
function readRejected(message: Uint8Array): number {
  const reader = new BinaryReader(message);
  let rejected = 0;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field !== 1) {
      reader.skip(type, field);
      continue;
    }
    const partial = new BinaryReader(reader.bytes());
    while (partial.pos < partial.len) {
      const [inner, innerType] = partial.tag();
      if (inner === 1) rejected = Number(partial.int64());
      else partial.skip(innerType, inner);
    }
  }
  return Math.max(0, rejected);
}
