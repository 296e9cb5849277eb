import {
  ConfigurationError,
  validateConfiguration,
} from "../../src/gateway/candidate/candidate.ts";
import { fileSource } from "../../src/config/configuration_source.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { print, printError } from "../output/output.ts";
import { ListenError, serve } from "./serve.ts";

/** Runs the gateway with the configuration of `-f`; returns the exit code after shutdown. */
export async function run(file: string): Promise<number> {
  try {
    return await serve(fileSource(file), {
      hangup: file === "-" ? "warns" : "reloads",
    });
  } catch (error) {
    if (error instanceof ListenError) {
      throw new Failure(`${error.message}. Set another address, or "off"`);
    }
    if (!(error instanceof ConfigurationError)) throw error;
    // Unprefixed: editors and terminals link the location at the start of each line.
    await printError(error.message);
    return exitCodes.failure;
  }
}

/** Prints all problems of the configuration and returns the exit code; with `strict`, warnings are errors. */
export async function validate(
  file: string,
  options: { readonly strict?: boolean } = {},
): Promise<number> {
  const { diagnostics, text } = await validateConfiguration(
    fileSource(file),
    Deno.env.toObject(),
    options,
  );
  await printError(text);
  const warnings = diagnostics.filter(({ severity }) => severity === "warning");
  if (warnings.length < diagnostics.length) return exitCodes.failure;
  await print(`Configuration is valid${countOf(warnings.length)}\n`);
  return exitCodes.ok;
}

function countOf(warnings: number): string {
  if (warnings === 0) return "";
  return warnings === 1 ? ", 1 warning" : `, ${warnings} warnings`;
}
