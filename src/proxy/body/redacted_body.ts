import { Buffer } from "node:buffer";
import { latin1 } from "../../base/bytes.ts";
import { REDACTION_MARKER } from "../../base/redaction.ts";
import type { Body } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";

/** A body in which secrets are replaced while it streams; holds back only what may be the beginning of one. */
export class RedactedBody implements Body {
  readonly length = undefined;
  readonly #source: Body;
  readonly #secrets: readonly string[];
  readonly #longest: number;
  /** The end of what was read, in Latin-1. */
  #held = "";
  #isOver = false;

  /** @param secrets ASCII, none empty. */
  constructor(source: Body, secrets: readonly string[]) {
    this.#source = source;
    this.#secrets = secrets;
    this.#longest = Math.max(...secrets.map(({ length }) => length));
  }

  get trailers(): HeaderList | undefined {
    return this.#source.trailers;
  }

  async read(): Promise<Uint8Array | undefined> {
    while (!this.#isOver) {
      const chunk = await this.#source.read();
      this.#isOver = chunk === undefined;
      const text = redactSecrets(
        this.#held + (chunk === undefined ? "" : latin1(chunk)),
        this.#secrets,
      );
      const end = this.#isOver
        ? text.length
        : Math.max(0, text.length - this.#longest + 1);
      this.#held = text.slice(end);
      if (end > 0) return Buffer.from(text.slice(0, end), "latin1");
    }
    return undefined;
  }

  cancel(reason: unknown): void {
    this.#isOver = true;
    this.#held = "";
    this.#source.cancel(reason);
  }
}

/** Replaces secrets in a text. */
export function redactSecrets(
  text: string,
  secrets: readonly string[],
): string {
  return secrets.reduce(
    (result, secret) => result.replaceAll(secret, REDACTION_MARKER),
    text,
  );
}
