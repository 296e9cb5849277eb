import { describeReadError } from "../../src/base/regular_file.ts";
import { Failure } from "./exit.ts";

/**
 * Reads a file that the user named; `-` is standard input.
 * @throws {Failure} When it cannot be read.
 */
export async function readInput(file: string): Promise<string> {
  try {
    return file === "-"
      ? await new Response(Deno.stdin.readable).text()
      : await Deno.readTextFile(file);
  } catch (error) {
    throw new Failure(`Cannot read "${file}": ${describeReadError(error)}`);
  }
}
