import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { dropHints } from "../conversation/answer_format.ts";
import type {
  ChatRequest,
  Effort,
  MediaSource,
  Part,
} from "../conversation/conversation.ts";
import type { Losses } from "../conversation/losses.ts";
import { openAiFacts } from "../conversation/model_facts.ts";
import { effortFor, nearestEffort } from "../conversation/reasoning.ts";

/** Returns the limit of the output. Agents want as many tokens as the model that they know can say; more than a model can is an error at OpenAI. */
export function outputLimit(
  { model, maxTokens }: ChatRequest,
  losses: Losses,
): number | undefined {
  if (maxTokens === undefined) return undefined;
  const { maxTokens: most = Infinity } = openAiFacts(model);
  if (maxTokens > most) losses.note("max_tokens");
  return Math.min(maxTokens, most);
}

/** Returns the effort that the model accepts. */
export function writeEffort(
  { model, reasoning, names }: ChatRequest,
  losses: Losses,
): Effort | undefined {
  if (reasoning === undefined) return undefined;
  const { efforts } = openAiFacts(model);
  const wanted = effortFor(reasoning);
  const effort = nearestEffort(wanted, efforts);
  const isKept = effort === wanted ||
    effort === undefined && wanted === "none";
  if (!isKept && (reasoning.effort !== undefined || effort === undefined)) {
    losses.drop(names.reasoning ?? "reasoning");
  }
  return effort;
}

/** Writes the settings of sampling, where the model takes any beside its effort. */
export function writeSampling(
  request: ChatRequest,
  effort: Effort | undefined,
  losses: Losses,
): JsonObject {
  const { samples, reasons } = openAiFacts(request.model);
  const isReasoning = effort === undefined
    ? reasons === true
    : effort !== "none";
  if (samples === "never" || samples === "withoutReasoning" && isReasoning) {
    // A temperature of 1 is that of a request without one.
    const { temperature, topP } = request;
    const rest = {
      ...request,
      temperature: temperature === 1 ? undefined : temperature,
      topP: topP === 1 ? undefined : topP,
    };
    dropHints(rest, losses, "temperature", "topP");
    dropHints(rest, losses, "frequencyPenalty", "presencePenalty");
    return {};
  }
  const { temperature, topP, seed, frequencyPenalty, presencePenalty } =
    request;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(seed !== undefined && { seed }),
    ...(frequencyPenalty !== undefined &&
      { frequency_penalty: frequencyPenalty }),
    ...(presencePenalty !== undefined && { presence_penalty: presencePenalty }),
  };
}

/** Returns the URL of an image or a file. */
export function urlOf(source: MediaSource): string {
  return "url" in source
    ? source.url
    : `data:${source.mediaType};base64,${source.data}`;
}

/** Joins the texts of a content. */
export function textOf(content: readonly Part[]): string {
  return content.map((part) => part.type === "text" ? part.text : "").join("");
}

/** Reports whether OpenAI accepts a schema as one to be followed to the letter: all members of objects are known and required. */
export function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (!isJsonObject(schema)) return true;
  const { properties, required, additionalProperties } = schema;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const isClosed = schema["type"] !== "object" ||
    additionalProperties === false && Array.isArray(required) &&
      names.every((name) => required.includes(name));
  return isClosed && Object.values(schema).every(isStrict);
}
