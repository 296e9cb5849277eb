/**
 * Encodes and decodes the messages of `envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit`.
 *
 * @module
 */
import { BinaryWriter, WireType } from "../../base/wire/protobuf_wire.ts";
import { readFields } from "../../base/wire/read_fields.ts";
import { latin1 } from "../../base/bytes.ts";

/** `RateLimitRequest`. */
export interface ServiceRequest {
  readonly domain: string;
  /** For services that do not support `hits_addend` of descriptors; 0 counts as 1. */
  readonly hitsAddend: number;
  readonly descriptors: readonly ServiceDescriptor[];
}

/** `RateLimitDescriptor`. */
export interface ServiceDescriptor {
  readonly entries: readonly (readonly [key: string, value: string])[];
  /** Replaces the limit that the service has for these entries. */
  readonly limit: { readonly perUnit: number; readonly unit: number };
  /** Amount to charge; 0 only checks. */
  readonly hitsAddend: number;
}

/** `RateLimitResponse`. */
export interface ServiceResponse {
  readonly overallCode: number;
  /** In the order of the request's descriptors. */
  readonly statuses: readonly DescriptorStatus[];
  readonly requestHeaders: readonly (readonly [string, string])[];
  readonly responseHeaders: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

/** `RateLimitResponse.DescriptorStatus`. */
export interface DescriptorStatus {
  readonly code: number;
  /** `undefined` when no limit applies. */
  readonly limit: ServiceDescriptor["limit"] | undefined;
  readonly remaining: number;
  /** `undefined` when the service does not report it. */
  readonly resetMs: number | undefined;
}

/** Largest number of statuses or headers in a response. */
const MAX_ITEMS = 128;

/** Encodes a request. */
export function encodeRequest(request: ServiceRequest): Uint8Array {
  const writer = new BinaryWriter();
  writeBytes(writer, 1).string(request.domain);
  for (const descriptor of request.descriptors) {
    writeBytes(writer, 2).fork();
    writeDescriptor(writer, descriptor);
    writer.join();
  }
  writer.tag(3, WireType.Varint).uint32(request.hitsAddend);
  return writer.finish();
}

function writeDescriptor(
  writer: BinaryWriter,
  descriptor: ServiceDescriptor,
): void {
  for (const [key, value] of descriptor.entries) {
    writeBytes(writer, 1).fork();
    writeBytes(writer, 1).string(key);
    writeBytes(writer, 2).string(value);
    writer.join();
  }
  const { perUnit, unit } = descriptor.limit;
  writeBytes(writer, 2).fork();
  writer.tag(1, WireType.Varint).uint32(perUnit);
  writer.tag(2, WireType.Varint).int32(unit);
  writer.join();
  writeBytes(writer, 3).fork();
  writer.tag(1, WireType.Varint).uint64(descriptor.hitsAddend);
  writer.join();
}

function writeBytes(writer: BinaryWriter, field: number): BinaryWriter {
  return writer.tag(field, WireType.LengthDelimited);
}

/**
 * Decodes a response; skips unknown fields.
 *
 * @throws {Error} When the bytes are not a valid message.
 */
export function decodeResponse(bytes: Uint8Array): ServiceResponse {
  const statuses: DescriptorStatus[] = [];
  const responseHeaders: (readonly [string, string])[] = [];
  const requestHeaders: (readonly [string, string])[] = [];
  let overallCode = 0;
  let body: Uint8Array = new Uint8Array();
  readFields(bytes, {
    numbers: { 1: (value) => overallCode = value },
    messages: {
      2: (message) => push(statuses, decodeStatus(message)),
      3: (message) => push(responseHeaders, decodeHeader(message)),
      4: (message) => push(requestHeaders, decodeHeader(message)),
      5: (message) => body = message,
    },
  });
  return { overallCode, statuses, requestHeaders, responseHeaders, body };
}

function push<T>(list: T[], item: T): void {
  if (list.length === MAX_ITEMS) {
    throw new RangeError(`expected at most ${MAX_ITEMS} items`);
  }
  list.push(item);
}

function decodeStatus(bytes: Uint8Array): DescriptorStatus {
  let code = 0;
  let remaining = 0;
  let limit: DescriptorStatus["limit"];
  let resetMs: number | undefined;
  readFields(bytes, {
    numbers: { 1: (value) => code = value, 3: (value) => remaining = value },
    messages: {
      2: (message) => limit = decodeLimit(message),
      4: (message) => resetMs = decodeDuration(message),
    },
  });
  return { code, limit, remaining, resetMs };
}

function decodeLimit(bytes: Uint8Array): ServiceDescriptor["limit"] {
  let perUnit = 0;
  let unit = 0;
  readFields(bytes, {
    numbers: { 1: (value) => perUnit = value, 2: (value) => unit = value },
  });
  return { perUnit, unit };
}

/** Returns the milliseconds of a `google.protobuf.Duration`, rounded up. */
function decodeDuration(bytes: Uint8Array): number {
  let seconds = 0;
  let nanos = 0;
  readFields(bytes, {
    numbers: { 1: (value) => seconds = value, 2: (value) => nanos = value },
  });
  return seconds * 1000 + Math.ceil(nanos / 1e6);
}

/** Returns name and value as Latin-1; `value` takes precedence over `raw_value`. */
function decodeHeader(bytes: Uint8Array): readonly [string, string] {
  let name = "";
  let value = "";
  let rawValue = "";
  readFields(bytes, {
    messages: {
      1: (message) => name = latin1(message),
      2: (message) => value = latin1(message),
      3: (message) => rawValue = latin1(message),
    },
  });
  return [name, value === "" ? rawValue : value];
}
