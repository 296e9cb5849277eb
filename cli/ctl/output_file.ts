import { describeError } from "../../src/base/errors.ts";
import { Failure } from "../process/exit.ts";

/** A file to be written; disposing it removes a created file that is still empty. */
export class OutputFile implements AsyncDisposable {
  #isNew: boolean;

  private constructor(readonly name: string, isNew: boolean) {
    this.#isNew = isNew;
  }

  /** @throws {Failure} When it cannot be written. */
  static async open(name: string): Promise<OutputFile> {
    try {
      (await Deno.open(name, { write: true, createNew: true })).close();
      return new OutputFile(name, true);
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) fail(name, error);
    }
    try {
      (await Deno.open(name, { write: true })).close();
    } catch (error) {
      fail(name, error);
    }
    return new OutputFile(name, false);
  }

  /** @throws {Failure} When it cannot be written. */
  async write(bytes: Uint8Array): Promise<void> {
    await Deno.writeFile(this.name, bytes).catch((error) =>
      fail(this.name, error)
    );
    this.#isNew = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isNew) await Deno.remove(this.name);
  }
}

function fail(name: string, error: unknown): never {
  throw new Failure(`Cannot write "${name}": ${describeError(error)}`);
}
