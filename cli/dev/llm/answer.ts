import { isJsonObject } from "../../../src/base/json.ts";

/** Output of the playground's "model". */
export interface Answer {
  /** The text, split into tokens. */
  readonly tokens: readonly string[];
  readonly text: string;
  /** False if the caller's token limit cut the output. */
  readonly complete: boolean;
}

/** Returns the output for a question; always the same for the same question. */
export function answer(question: string, maxTokens = Infinity): Answer {
  const all = tokenize(`You said: ${question}`);
  const tokens = all.slice(0, maxTokens);
  return {
    tokens,
    text: tokens.join(""),
    complete: tokens.length === all.length,
  };
}

/** Splits text into words, each with the space before it, as an approximation of tokens. */
export function tokenize(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}

/** Returns the text of a message's content, which is a string or a list of parts; ignores parts that are not text. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) =>
    isJsonObject(part) && typeof part.text === "string" ? part.text : ""
  )
    .join("\n");
}

/** Counts the tokens of all `texts`, plus a few for each message. */
export function countPromptTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + tokenize(text).length + 3, 0);
}
