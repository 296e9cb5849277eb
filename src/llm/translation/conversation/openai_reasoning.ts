import type { ThinkingPart } from "./conversation.ts";

/** An item of OpenAI's reasoning, which only OpenAI can read. */
export interface OpenAiReasoning {
  readonly id: string;
  readonly encrypted: string;
}

/** Of six letters, so that its Base64 begins each signature. */
const PREFIX = "gwoa1.";
const encodedPrefix = btoa(PREFIX);

/** Seals an item of OpenAI's responses in a signature, which every API has a place for; some accept Base64 only. */
export function sealOpenAiReasoning(
  { id, encrypted }: OpenAiReasoning,
): string {
  return new TextEncoder().encode(`${PREFIX}${id}.${encrypted}`).toBase64();
}

/** Opens a signature that `sealOpenAiReasoning` has made; `undefined` for those of other providers. */
export function openOpenAiReasoning(
  { signature }: ThinkingPart,
): OpenAiReasoning | undefined {
  if (!isOfOpenAi(signature)) return undefined;
  try {
    const text = new TextDecoder().decode(Uint8Array.fromBase64(signature));
    const rest = text.slice(PREFIX.length);
    const at = rest.indexOf(".");
    return { id: rest.slice(0, at), encrypted: rest.slice(at + 1) };
  } catch {
    return undefined;
  }
}

/** Reports whether a signature is one of OpenAI's, which others reject. */
export function isOfOpenAi(signature: string): boolean {
  return signature.startsWith(encodedPrefix);
}
