import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type { ChatRequest, Hint, Tool } from "./conversation.ts";
import { type Losses, noCounterpart } from "./losses.ts";

/** Limit of the values in texts of JSON: the arguments or results of all tools, or the input of one call. */
export const MAX_QUOTED_VALUES = 30_000;

/** Name of the tool that stands for a format of the answer, at models that have no formats. */
export const FORMAT_TOOL = "answer_as_json";

/** Means by which a model answers in a format. */
export interface FormatPlan {
  /** Schema for the format of the provider. */
  readonly schema?: JsonObject;
  /** The model must call it: its input is the answer. */
  readonly tool?: Tool;
}

/**
 * Returns how a model of Anthropic or at Bedrock answers in the format of a request.
 * @param hasFormats The model has formats with a schema; none has formats without.
 * @throws {UntranslatableError} If there are other tools: the model would have to call the one of the format.
 */
export function planFormat(
  { format, tools, names }: ChatRequest,
  hasFormats: boolean,
  losses: Losses,
): FormatPlan {
  if (format === undefined) return {};
  const { schema } = format;
  if (hasFormats && schema !== undefined) return { schema: closed(schema) };
  const name = names.format ?? "format";
  if (tools.length > 0) {
    if (schema !== undefined) throw noCounterpart(`${name} with tools`);
    // The prompt has to ask for JSON anyway, at OpenAI too.
    losses.drop(name);
    return {};
  }
  return {
    tool: {
      name: FORMAT_TOOL,
      description: "Answers the user. Its input is the whole answer.",
      schema: schema ?? { type: "object" },
      strict: false,
    },
  };
}

/** Reports whether the calls of a request have to follow their schemas to the letter. */
export function dropStrict(
  { tools, names }: ChatRequest,
  losses: Losses,
): void {
  if (tools.some(({ strict }) => strict)) losses.drop(names.strict ?? "strict");
}

/**
 * Leaves out settings that a provider does not have.
 * @throws {UntranslatableError} If the backend rejects such requests.
 */
export function dropHints(
  request: ChatRequest,
  losses: Losses,
  ...hints: readonly (Hint & keyof ChatRequest)[]
): void {
  for (const hint of hints) {
    if (request[hint] === undefined) continue;
    losses.drop(request.names[hint] ?? hint);
  }
}

/** Adds what Anthropic requires of every object: that it has no other members. */
function closed(schema: JsonObject): JsonObject {
  const members = Object.entries(schema).map(([name, value]) =>
    [name, closedValue(value)] as const
  );
  const isOpen = schema["type"] === "object" &&
    !Object.hasOwn(schema, "additionalProperties");
  return {
    ...Object.fromEntries(members),
    ...(isOpen && { additionalProperties: false }),
  };
}

function closedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closedValue);
  return isJsonObject(value) ? closed(value) : value;
}
