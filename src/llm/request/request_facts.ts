import { isJsonObject } from "../../base/json.ts";
import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { type JsonSpan, readJson } from "../../base/json/json_reader.ts";
import { JsonSelection, WHOLE } from "../../base/json/json_shape.ts";

/** Facts in the body of a request to an LLM. */
export interface RequestFacts {
  readonly model: string | undefined;
  readonly isStreamed: boolean;
  /** The client requests the usage of its streamed chat itself. */
  readonly includesUsage: boolean;
  /** OpenAI responds later, to another request. */
  readonly isBackground: boolean;
  /** Places of the values by path; `undefined` for a body that is no JSON object, or that servers read in different ways. */
  readonly spans: ReadonlyMap<string, JsonSpan> | undefined;
}

const MAX_MODEL_LENGTH = 256;

const selection = new JsonSelection({
  model: WHOLE,
  stream: WHOLE,
  stream_options: { include_usage: WHOLE },
  background: WHOLE,
});

/** Reads the facts of a decoded body; of one that is not JSON, or that servers read in different ways, none are known. */
export async function readRequestFacts(
  body: Uint8Array | undefined,
): Promise<RequestFacts> {
  const spans = new Map<string, JsonSpan>();
  const request = body &&
    await readJson(body, selection, spans).catch(ignoreProblem);
  const { model, stream, stream_options: options, background } =
    isJsonObject(request) ? request : {};
  return {
    model: typeof model === "string"
      ? model.slice(0, MAX_MODEL_LENGTH)
      : undefined,
    isStreamed: isSet(stream),
    includesUsage: isJsonObject(options) && isSet(options["include_usage"]),
    isBackground: isSet(background),
    spans: isJsonObject(request) ? spans : undefined,
  };
}

/** Lenient servers read more values as true than `true`. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function ignoreProblem(error: unknown): undefined {
  if (!(error instanceof JsonProblem)) throw error;
}
