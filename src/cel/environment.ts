import { expressionFunctions } from "./functions.ts";
import { Environment } from "./library.ts";

/** What every expression of the gateway is checked and planned in. */
export const environment: Environment = new Environment(expressionFunctions);
