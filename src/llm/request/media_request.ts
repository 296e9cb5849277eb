import { parseJson } from "../../base/json.ts";
import { JsonPaths, JsonScanner } from "../../base/json/json_scanner.ts";

const MAX_MODEL_LENGTH = 256;
const paths = new JsonPaths(["model", "input"]);

/** Finds the model of a request in JSON, and the length of the text that it is to speak, while its body passes. */
export class MediaRequest {
  model: string | undefined;
  #length = 0;
  #characters: number | undefined;
  readonly #scanner = new JsonScanner(paths, {
    member: (path, text) => this.#set(path, parseJson(text)),
  });

  /** Characters to speak. A text that is too long to be read counts as the bytes of the body. */
  get characters(): number {
    return this.#characters ?? this.#length;
  }

  /** Takes the next bytes of the body. */
  push(bytes: Uint8Array): void {
    this.#length += bytes.length;
    this.#scanner.push(bytes);
  }

  #set(path: string, value: unknown): void {
    if (typeof value !== "string") return;
    if (path === "model") this.model = value.slice(0, MAX_MODEL_LENGTH);
    else this.#characters = value.length;
  }
}
