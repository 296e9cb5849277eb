/** Collects the lines of a stream. */
export class LogLines {
  readonly all: string[] = [];
  #cursor = 0;
  #ended = false;
  #wake: (() => void)[] = [];

  add(line: string): void {
    this.all.push(line.trimEnd());
    this.#wakeAll();
  }

  /** Adds the lines of a stream until its end. */
  async addAll(stream: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.add(line);
    }
    this.#ended = true;
    this.#wakeAll();
  }

  /** Waits for and returns the first matching line after the last returned one. */
  async next(pattern: RegExp): Promise<string> {
    for (;;) {
      for (let index = this.#cursor; index < this.all.length; index++) {
        const line = this.all[index] ?? "";
        if (!pattern.test(line)) continue;
        this.#cursor = index + 1;
        return line;
      }
      if (this.#ended) {
        throw new Error(`No line matches ${pattern}:\n${this.all.join("\n")}`);
      }
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  #wakeAll(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const each of wake) each();
  }
}
