import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import type { LlmApi } from "../../../src/llm/llm_api.ts";
import { estimateInput } from "../../../src/llm/request/input_estimate.ts";
import type { TokenUsage } from "../../../src/llm/usage/token_usage.ts";
import {
  createUsageScanner,
  type UsageScanner,
} from "../../../src/llm/usage/usage_scanner.ts";

export const sse = "text/event-stream";
export const json = "application/json";
export const awsEventStream = "application/vnd.amazon.eventstream";

/** A response and its expected usage. */
export interface LlmResponse {
  readonly name: string;
  readonly api: LlmApi;
  readonly contentType: string;
  readonly body: Uint8Array;
  readonly input: number;
  readonly output: number;
  readonly model?: string;
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Formats documents as events: `data: {…}` and an empty line each. */
export function events(...documents: readonly unknown[]): string {
  return documents.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");
}

/** Formats documents as named events, like Anthropic. */
export function namedEvents(
  ...documents: readonly { readonly type: string }[]
): string {
  return documents.map((each) =>
    `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`
  ).join("");
}

/** Encodes a message of an AWS event stream. */
export function awsMessage(eventType: string, payload: unknown): Uint8Array {
  const headers = Buffer.concat([
    awsHeader(":event-type", eventType),
    awsHeader(":message-type", "event"),
  ]);
  const content = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(12 + headers.length + content.length + 4, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headers, content]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(message));
  return Buffer.concat([message, checksum]);
}

function awsHeader(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(value.length);
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([7]),
    length,
    Buffer.from(value),
  ]);
}

export function scannerFor(
  contentType: string,
  api?: LlmApi,
): UsageScanner {
  const scanner = createUsageScanner({ api, contentType });
  if (scanner === undefined) throw new TypeError(`No scanner: ${contentType}`);
  return scanner;
}

/** Returns the usage of a response that arrives in these pieces. */
export function scan(
  contentType: string,
  pieces: readonly (Uint8Array | string)[],
  api?: LlmApi,
): TokenUsage | undefined {
  const scanner = scannerFor(contentType, api);
  for (const piece of pieces) {
    scanner.push(typeof piece === "string" ? bytesOf(piece) : piece);
  }
  return scanner.finish();
}

/** Returns the usage of a JSON response. */
export function scanJson(
  document: unknown,
  api?: LlmApi,
): TokenUsage | undefined {
  return scan(json, [JSON.stringify(document)], api);
}

/** Cuts bytes at sorted positions. */
export function cut(
  bytes: Uint8Array,
  positions: readonly number[],
): Uint8Array[] {
  const ends = [...positions.filter((at) => at <= bytes.length), bytes.length]
    .sort((a, b) => a - b);
  return ends.map((end, index) => bytes.slice(ends[index - 1] ?? 0, end));
}

/** Splits bytes one by one. */
export function everyByte(bytes: Uint8Array): Uint8Array[] {
  return Array.from(bytes, (byte) => Uint8Array.of(byte));
}

/** Returns the estimated input of a request. */
export function estimatedInput(body: Uint8Array | string): number {
  return estimateInput(typeof body === "string" ? bytesOf(body) : body);
}
