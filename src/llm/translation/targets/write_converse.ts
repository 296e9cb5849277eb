import type { JsonObject } from "../../../base/json.ts";
import {
  dropHints,
  FORMAT_TOOL,
  planFormat,
} from "../conversation/answer_format.ts";
import type { ChatRequest, ToolChoice } from "../conversation/conversation.ts";
import { fitUser } from "../conversation/fitted_names.ts";
import {
  fitTurns,
  hasMarks,
  knownTools,
  limitMarks,
  systemTexts,
} from "../conversation/fitted_turns.ts";
import { type Losses, noCounterpart } from "../conversation/losses.ts";
import {
  claudeFacts,
  type ConverseFacts,
  converseFacts,
} from "../conversation/model_facts.ts";
import {
  claudeReasoning,
  effortFor,
  nearestEffort,
} from "../conversation/reasoning.ts";
import { writeContents, writeMark, type Writing } from "./converse_content.ts";
import { writeSampling } from "./write_messages.ts";

/** In `requestMetadata`. */
const userCharacters = /^[A-Za-z0-9\s:_@$#=/+,.-]{0,256}$/;
/**
 * Writes a request of Bedrock's Converse; the model is in the path.
 * @throws {UntranslatableError}
 */
export function writeConverseRequest(
  original: ChatRequest,
  losses: Losses,
): JsonObject {
  dropHints(original, losses, "seed", "frequencyPenalty", "presencePenalty");
  const request = limitMarks(original);
  const { model, names, stop, user, maxTokens } = request;
  const facts = converseFacts(model);
  const format = planFormat(request, facts.formats, losses);
  if (request.parallelCalls === false) {
    losses.drop(names.parallelCalls ?? "parallelCalls");
  }
  if (!facts.caches && hasMarks(request)) losses.note(names.cache ?? "cache");
  const writing: Writing = { losses, caches: facts.caches, documents: 0 };
  const toolChoice = format.tool ? { name: FORMAT_TOOL } : request.toolChoice;
  const own = writeModelFields({ ...request, toolChoice }, facts, losses);
  const { temperature, top_p: topP, ...additional } = own.sampling;
  const inferenceConfig = {
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stop.length > 0 && { stopSequences: stop }),
  };
  const modelFields = { ...additional, ...own.fields };
  const outputConfig = {
    ...(format.schema && { textFormat: writeFormat(request, format.schema) }),
    ...(own.effort && { effort: own.effort }),
  };
  return {
    ...orNothing("toolConfig", writeTools(request, facts, format.tool, losses)),
    ...orNothing("system", writeSystem(request, writing)),
    messages: fitTurns(request.turns, { noBlanks: true })
      .map(({ role, parts }) => ({
        role,
        content: writeContents(parts, writing),
      })),
    ...orNothing("inferenceConfig", inferenceConfig),
    ...orNothing("outputConfig", outputConfig),
    ...orNothing("additionalModelRequestFields", modelFields),
    ...(user !== undefined &&
      { requestMetadata: { user: fitUser(user, userCharacters) } }),
  };
}

function orNothing(name: string, value: object | undefined): JsonObject {
  return value === undefined || Object.keys(value).length === 0
    ? {}
    : { [name]: value };
}

/** Settings that are fields of the model's own, or that only some models accept. */
interface ModelFields {
  readonly sampling: JsonObject;
  readonly effort?: string;
  readonly fields: JsonObject;
}

function writeModelFields(
  request: ChatRequest,
  { isClaude, reasoning: own }: ConverseFacts,
  losses: Losses,
): ModelFields {
  const { model, names, reasoning, temperature, topP } = request;
  if (isClaude) {
    const facts = claudeFacts(model);
    const read = claudeReasoning(
      request,
      request.toolChoice,
      // Bedrock has efforts with adaptive thinking only; 2026-08-22.
      facts.adaptive ? facts : { ...facts, efforts: [] },
    );
    const { thinking, effort, isChanged } = read;
    if (isChanged) losses.drop(names.reasoning ?? "reasoning");
    return {
      sampling: writeSampling(request, facts, read, losses),
      ...(effort && { effort }),
      fields: thinking && thinking.type !== "disabled" ? { thinking } : {},
    };
  }
  dropHints(request, losses, "topK");
  const wanted = reasoning && effortFor(reasoning);
  const effort = wanted && own && nearestEffort(wanted, own.efforts);
  if (wanted !== effort && wanted !== "none") {
    losses.drop(names.reasoning ?? "reasoning");
  }
  return {
    sampling: {
      ...(temperature !== undefined && { temperature }),
      ...(topP !== undefined && { top_p: topP }),
    },
    fields: own && effort ? { [own.field]: effort } : {},
  };
}

function writeFormat({ format }: ChatRequest, schema: JsonObject): JsonObject {
  const name = format?.name ?? "answer";
  const jsonSchema = { name, schema: JSON.stringify(schema) };
  return { type: "json_schema", structure: { jsonSchema } };
}

function writeTools(
  request: ChatRequest,
  { formats, caches }: ConverseFacts,
  formatTool: ChatRequest["tools"][number] | undefined,
  losses: Losses,
): JsonObject | undefined {
  const { toolChoice, tools: own, names } = request;
  const used = knownTools({ ...request, tools: [] });
  if (toolChoice === "none" && own.length > 0) {
    if (used.length > 0) throw noCounterpart("tool_choice: none");
    return undefined;
  }
  const tools = formatTool ? [formatTool] : own.length > 0 ? own : used;
  if (tools.length === 0) return undefined;
  const choice = formatTool
    ? { name: formatTool.name }
    : own.length > 0
    ? toolChoice
    : undefined;
  if (!formats && tools.some(({ strict }) => strict)) {
    losses.drop(names.strict ?? "strict");
  }
  return {
    tools: tools.flatMap(({ name, description, schema, strict, cache }) => [
      {
        toolSpec: {
          name,
          ...(description?.trim() && { description }),
          inputSchema: {
            json: Object.hasOwn(schema, "type")
              ? schema
              : { type: "object", ...schema },
          },
          ...(strict && formats && { strict }),
        },
      },
      ...writeMark(cache, caches),
    ]),
    ...(choice !== undefined && { toolChoice: writeToolChoice(choice) }),
  };
}

function writeToolChoice(choice: ToolChoice): JsonObject {
  if (typeof choice === "object") return { tool: { name: choice.name } };
  return choice === "required" ? { any: {} } : { auto: {} };
}

function writeSystem(
  request: ChatRequest,
  { caches }: Writing,
): readonly JsonObject[] {
  return systemTexts(request).flatMap((
    { text, cache },
  ) => [{ text }, ...writeMark(cache, caches)]);
}
