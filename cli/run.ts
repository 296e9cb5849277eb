import { validateConfiguration } from "../src/candidate.ts";
import { fileSource } from "../src/config/configuration_source.ts";
import { exitCodes } from "./exit.ts";
import { print, printError } from "./output.ts";
import { serve } from "./serve.ts";

/** Runs the gateway with the configuration that `-f` names; answers the exit code once it is shut down. */
export async function run(file: string): Promise<number> {
  return await serve(fileSource(file));
}

/** Prints everything that is wrong with the configuration; answers the exit code. */
export async function validate(file: string): Promise<number> {
  const { diagnostics, text } = await validateConfiguration(
    fileSource(file),
    Deno.env.toObject(),
  );
  await printError(text);
  if (diagnostics.some(({ severity }) => severity === "error")) {
    return exitCodes.failure;
  }
  await print("Configuration is valid\n");
  return exitCodes.ok;
}
