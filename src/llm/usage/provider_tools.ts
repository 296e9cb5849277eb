import { latin1 } from "../../base/bytes.ts";
import { eventAround } from "../format/server_sent_events.ts";

/** End of the type of a block of Anthropic with what a tool found. */
const RESULT = '_tool_result"';
/** Bytes of a result per token; a third of it is encrypted. */
const BYTES_PER_TOKEN = 3.5;

/** End of the type of an event of OpenAI. */
const COMPLETED = '.completed"';
const run = /response\.(\w+)\.completed"$/;
const MAX_TYPE_BYTES = 64;
/** Tokens that a run adds, and what the first one adds to them. */
const runCosts: ReadonlyMap<string, readonly [run: number, first: number]> =
  new Map([
    ["web_search_call", [4600, 4000]],
    ["code_interpreter_call", [1300, 0]],
    ["file_search_call", [600, 600]],
    ["mcp_list_tools", [200, 900]],
    ["mcp_call", [100, 0]],
    ["image_generation_call", [1900, 0]],
  ]);

/**
 * Estimates the input that tools of the provider add while a response is streamed, such as searches: models read what they find, and
 * providers report it at the end.
 */
export class ProviderTools {
  #results = 0;
  #resultTokens = 0;
  /** Of all results at each result: Anthropic bills the whole conversation for each. */
  #readTokens = 0;
  readonly #runs = new Map<string, number>();

  /** Adds complete events. */
  addEvents(events: Uint8Array): void {
    const text = latin1(events);
    for (let at = text.indexOf(RESULT); at >= 0;) {
      const { start, end } = eventAround(events, at, 0);
      this.#results++;
      this.#resultTokens += (end - start) / BYTES_PER_TOKEN;
      this.#readTokens += this.#resultTokens;
      at = text.indexOf(RESULT, end);
    }
    for (let at = text.indexOf(COMPLETED); at >= 0;) {
      const end = at + COMPLETED.length;
      this.#addRun(text.slice(Math.max(0, end - MAX_TYPE_BYTES), end));
      at = text.indexOf(COMPLETED, end);
    }
  }

  #addRun(event: string): void {
    const type = run.exec(event)?.[1];
    if (type === undefined || !runCosts.has(type)) return;
    this.#runs.set(type, (this.#runs.get(type) ?? 0) + 1);
  }

  /** Returns the tokens that a response has read beyond `input`. */
  addedTo(input: number): number {
    let tokens = this.#results * input + this.#readTokens;
    for (const [type, runs] of this.#runs) {
      const [run, first] = runCosts.get(type) ?? [0, 0];
      tokens += first + runs * run;
    }
    return tokens;
  }

  /** Starts again: what there was is reported. */
  reset(): void {
    this.#results = this.#resultTokens = this.#readTokens = 0;
    this.#runs.clear();
  }
}
