import type { Offer } from "../../../cli/dev/mcp/offer.ts";
import { completeArgument, prompts } from "./conformance_prompts.ts";
import {
  readResource,
  resources,
  resourceTemplates,
} from "./conformance_resources.ts";
import { conformanceRounds } from "./conformance_rounds.ts";
import { conformanceTools } from "./conformance_tools.ts";

/** Tools, prompts and resources that the MCP conformance suite requires of a server. */
export const conformanceOffer: Offer = {
  tools: { ...conformanceTools, ...conformanceRounds },
  prompts,
  resources,
  resourceTemplates,
  readResource,
  completeArgument,
};
