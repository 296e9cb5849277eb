import { expressionFunctions } from "./functions.ts";
import { Environment } from "./library.ts";

let made: Environment | undefined;

/** What every expression of the gateway is checked and planned in; made for the first one. */
export function environment(): Environment {
  return made ??= new Environment(expressionFunctions);
}
