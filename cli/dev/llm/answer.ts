import { isJsonObject } from "../../../src/base/json.ts";

/** What the playground's "model" says. */
export interface Answer {
  /** The text, cut where a model would send one token. */
  readonly tokens: readonly string[];
  readonly text: string;
  /** False when the caller's token limit cut the answer short. */
  readonly complete: boolean;
}

/** Always gives the same answer to the same question. */
export function answer(question: string, maxTokens = Infinity): Answer {
  const all = tokenize(`You said: ${question}`);
  const tokens = all.slice(0, maxTokens);
  return {
    tokens,
    text: tokens.join(""),
    complete: tokens.length === all.length,
  };
}

/** Cuts text into words, each with the space before it: near enough to tokens. */
export function tokenize(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}

/** Text of a message's content, which is a string or a list of parts; parts that are not text count for nothing. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) =>
    isJsonObject(part) && typeof part.text === "string" ? part.text : ""
  )
    .join("\n");
}

/** Number of tokens in all `texts`, with a few per text for the message around it. */
export function countPromptTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + tokenize(text).length + 3, 0);
}
