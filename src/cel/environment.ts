import { expressionFunctions } from "./functions.ts";
import { Environment } from "./library.ts";

let made: Environment | undefined;

/** Returns the environment of all expressions, which is created for the first one. */
export function environment(): Environment {
  return made ??= new Environment(expressionFunctions);
}
