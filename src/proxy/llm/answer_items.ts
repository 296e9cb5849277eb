import type {
  ItemStore,
  TextPart,
  ThinkingPart,
} from "../../llm/translation/conversation/conversation.ts";

/** Limits of the characters that are kept, of one item and of all. */
const MAX_ITEM_LENGTH = 256 * 1024;
const MAX_LENGTH = 16 * 1024 * 1024;

type Item = TextPart | ThinkingPart;

/**
 * Keeps texts and reasoning of translated answers for clients of OpenAI's responses that refer to them by id, as the AI SDK does unless
 * told to store nothing; the oldest go first. It is that of one process, or worker.
 */
export class AnswerItems {
  readonly #items = new Map<string, Item>();
  #length = 0;

  /** Returns the items of one client. @param owner Identifies it. */
  of(owner: string): ItemStore {
    return {
      keep: (id, part) => this.#keep(`${owner}\n${id}`, part),
      find: (id) => this.#items.get(`${owner}\n${id}`),
    };
  }

  #keep(key: string, part: Item): void {
    const length = lengthOf(key, part);
    if (length > MAX_ITEM_LENGTH) return;
    this.#delete(key);
    this.#items.set(key, part);
    this.#length += length;
    for (const oldest of this.#items.keys()) {
      if (this.#length <= MAX_LENGTH) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    const part = this.#items.get(key);
    if (part === undefined) return;
    this.#length -= lengthOf(key, part);
    this.#items.delete(key);
  }
}

function lengthOf(key: string, part: Item): number {
  const signature = part.type === "thinking" ? part.signature.length : 0;
  return key.length + part.text.length + signature;
}
