import type { Size } from "./state/layout.ts";

/** The part of a terminal that the screen needs. */
export interface ScreenOutput {
  writeSync(bytes: Uint8Array): number;
}

/** A terminal that keys are read from. */
export interface KeyInput {
  read(buffer: Uint8Array): Promise<number | null>;
  setRaw(mode: boolean): void;
}

// Alternate screen, hidden cursor, no line wrapping.
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

/** Occupies the terminal until it is disposed, which restores the terminal. */
export class Screen implements Disposable {
  readonly #input: KeyInput;
  readonly #output: ScreenOutput;
  #shown: readonly string[] = [];
  #size: Size = { columns: 0, rows: 0 };
  #isOpen = false;

  constructor(input: KeyInput, output: ScreenOutput) {
    this.#input = input;
    this.#output = output;
    this.open();
  }

  /** Occupies the terminal, also after a suspension; the next `draw` writes all rows. */
  open(): void {
    this.#isOpen = true;
    this.#size = { columns: 0, rows: 0 };
    // Resets first, so that `close` does not restore a mode set in the meantime.
    this.#input.setRaw(false);
    this.#input.setRaw(true);
    this.#write(ENTER);
  }

  /** Draws rows created by `toTerminal`; writes only changed rows. */
  draw(rows: readonly string[], size: Size): void {
    if (!this.#isOpen) return;
    const { columns, rows: height } = this.#size;
    const isResized = size.columns !== columns || size.rows !== height;
    if (isResized) this.#shown = [];
    const changes = rows.map((row, index) =>
      row === this.#shown[index]
        ? ""
        : `\x1b[${index + 1};1H\x1b[2K${row}\x1b[0m`
    ).join("");
    this.#write(isResized ? `\x1b[2J${changes}` : changes);
    this.#shown = rows;
    this.#size = size;
  }

  /** Sends a sequence that draws nothing. */
  send(sequence: string): void {
    if (this.#isOpen) this.#write(sequence);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Restores the terminal; may be called twice, and after the terminal was closed. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    try {
      this.#write(LEAVE);
      this.#input.setRaw(false);
    } catch {
      // The terminal was closed.
    }
  }

  #write(text: string): void {
    const bytes = new TextEncoder().encode(text);
    for (let sent = 0; sent < bytes.length;) {
      sent += this.#output.writeSync(bytes.subarray(sent));
    }
  }
}
