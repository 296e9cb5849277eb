import { Buffer } from "node:buffer";

/** More than this of one push is not looked at: the rest is taken to be alike. */
const sampleBytes = 1024;

/** The text that models write, under every name that providers have for it. */
const content =
  /"(?:content|text|thinking|reasoning|reasoning_content|refusal|partial_json|arguments|delta)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;
/** OpenAI responses repeat whole parts when they are done: only deltas are new. */
const deltas = /"delta"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g;

/** About how many bytes of content are in these events: exact for a few events, else as much as in the first of them. */
export function countContentBytes(events: Uint8Array): number {
  const length = Math.min(events.length, sampleBytes);
  if (length === 0) return 0;
  const text = Buffer.from(events.buffer, events.byteOffset, length)
    .toString("latin1", 0, length);
  const pattern = text.includes('"response.') ? deltas : content;
  let counted = 0;
  for (const [, value] of text.matchAll(pattern)) counted += value?.length ?? 0;
  return Math.round(counted * events.length / length);
}
