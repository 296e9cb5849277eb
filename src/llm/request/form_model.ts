import { latin1 } from "../../base/bytes.ts";

const MAX_HEAD_BYTES = 4096;
const MAX_MODEL_BYTES = 256;
const modelField =
  /^content-disposition:[^\r\n]*;[ \t]*name="?model"?[ \t]*(?:;|\r|$)/im;

/** Finds the field `model` of a form (RFC 7578) while its body passes, and keeps at most one part's head of it. */
export class FormModel {
  readonly #delimiter: string;
  /** Bytes that belong to what is read next. */
  #pending = "";
  #reads: "delimiter" | "head" | "model" = "delimiter";
  readonly #models = new Set<string>();

  private constructor(boundary: string) {
    this.#delimiter = `--${boundary}`;
  }

  /** @param contentType `undefined` or not that of a form: there is nothing to find. */
  static create(contentType: string | undefined): FormModel | undefined {
    const [, quoted, plain] = boundaryOf.exec(contentType ?? "") ?? [];
    const boundary = quoted ?? plain;
    return boundary === undefined ? undefined : new FormModel(boundary);
  }

  /** The model; `undefined` if the form has none, or several: servers choose differently. */
  get model(): string | undefined {
    const [model] = this.#models;
    return this.#models.size === 1 ? model : undefined;
  }

  /** Takes the next bytes of the body. */
  push(bytes: Uint8Array): void {
    this.#pending += latin1(bytes);
    while (this.#readNext()) { /* The rest may have more. */ }
  }

  /** Returns whether something was read. */
  #readNext(): boolean {
    switch (this.#reads) {
      case "delimiter":
        return this.#skipPart();
      case "head":
        return this.#readHead();
      case "model":
        return this.#readModel();
    }
  }

  /** Keeps what may be the beginning of a delimiter. */
  #skipPart(): boolean {
    const { length } = this.#delimiter;
    const at = this.#pending.indexOf(this.#delimiter);
    const end = at < 0 ? this.#pending.length + 1 - length : at + length;
    this.#pending = this.#pending.slice(Math.max(0, end));
    if (at >= 0) this.#reads = "head";
    return at >= 0;
  }

  #readHead(): boolean {
    const end = this.#pending.indexOf("\r\n\r\n");
    const isLong = end < 0
      ? this.#pending.length > MAX_HEAD_BYTES
      : end > MAX_HEAD_BYTES;
    if (end < 0 && !isLong) return false;
    const head = isLong ? "" : this.#pending.slice(0, end + 2);
    this.#reads = modelField.test(head) ? "model" : "delimiter";
    if (!isLong) this.#pending = this.#pending.slice(end + 4);
    return true;
  }

  #readModel(): boolean {
    const end = this.#pending.indexOf(`\r\n${this.#delimiter}`);
    if (end < 0 && this.#pending.length <= MAX_MODEL_BYTES) return false;
    if (end >= 0 && end <= MAX_MODEL_BYTES) {
      this.#models.add(this.#pending.slice(0, end));
    }
    this.#reads = "delimiter";
    return true;
  }
}

const boundaryOf =
  /^multipart\/form-data\b.*;[ \t]*boundary=(?:"([^"]{1,70})"|([^\s;",]{1,70}))/i;
