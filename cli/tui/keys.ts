/** A key press; `text` is a typed or pasted character. */
export type Key =
  | { readonly name: KeyName }
  | { readonly name: "text"; readonly text: string };

/** Keys other than characters. `interrupt` is Ctrl-C, `suspend` Ctrl-Z. */
export type KeyName =
  | "up"
  | "down"
  | "pageUp"
  | "pageDown"
  | "home"
  | "end"
  | "tab"
  | "enter"
  | "escape"
  | "backspace"
  | "interrupt"
  | "suspend";

/** Escape sequences of terminals, after ESC `[` or ESC `O`. */
const sequences: Readonly<Record<string, KeyName>> = {
  A: "up",
  B: "down",
  H: "home",
  F: "end",
  Z: "tab",
  "1~": "home",
  "4~": "end",
  "5~": "pageUp",
  "6~": "pageDown",
  "7~": "home",
  "8~": "end",
};

const controls: Readonly<Record<string, KeyName>> = {
  "\t": "tab",
  "\r": "enter",
  "\n": "enter",
  "\b": "backspace",
  "\x7f": "backspace",
  "\x02": "pageUp",
  "\x03": "interrupt",
  "\x04": "pageDown",
  "\x06": "pageDown",
  "\x15": "pageUp",
  "\x1a": "suspend",
};

// deno-lint-ignore no-control-regex -- the language of terminals
const sequence = /^\x1b[[O]([0-9;]*[A-Za-z~])/;
// deno-lint-ignore no-control-regex -- the language of terminals
const unfinished = /^\x1b[[O][0-9;]*$/;

/** Decodes keys from the bytes of a terminal in raw mode. */
export class KeyDecoder {
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** Decodes bytes; an incomplete sequence waits for more, except ESC alone. */
  decode(bytes: Uint8Array): readonly Key[] {
    const keys: Key[] = [];
    let text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    while (text !== "" && !unfinished.test(text)) {
      const [whole, code = ""] = sequence.exec(text) ?? [];
      const [character = ""] = text;
      const key = whole === undefined ? keyOf(character) : keyNamed(code);
      if (key !== undefined) keys.push(key);
      text = text.slice(whole?.length ?? character.length);
    }
    this.#rest = text;
    return keys;
  }
}

function keyNamed(code: string): Key | undefined {
  const name = Object.hasOwn(sequences, code) ? sequences[code] : undefined;
  return name === undefined ? undefined : { name };
}

function keyOf(character: string): Key | undefined {
  if (character === "\x1b") return { name: "escape" };
  const name = controls[character];
  if (name !== undefined) return { name };
  return character < " " ? undefined : { name: "text", text: character };
}
