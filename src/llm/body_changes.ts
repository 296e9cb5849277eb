import { utf8 } from "../base/bytes.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { type JsonSpan, readJson } from "../base/json/json_reader.ts";
import { JsonSelection, WHOLE } from "../base/json/json_shape.ts";

type Fields = Readonly<Record<string, JsonValue>>;

/** Changes to the fields of requests, and what has to be read of a body for them. */
export class BodyChanges {
  readonly defaults: Fields;
  readonly overrides: Fields;
  readonly selection: JsonSelection;
  readonly isEmpty: boolean;

  constructor(defaults: Fields = {}, overrides: Fields = {}) {
    this.defaults = defaults;
    this.overrides = overrides;
    const names = [...Object.keys(defaults), ...Object.keys(overrides)];
    this.isEmpty = names.length === 0;
    this.selection = new JsonSelection(
      Object.fromEntries(
        ["model", "models", "stream", ...names.flatMap(namesOf)].map((
          name,
        ) => [name, WHOLE]),
      ),
    );
  }

  /** Returns the fields to set in a body, under the names that it has them. */
  of(body: JsonObject): Fields {
    const usedNames = (field: string) =>
      namesOf(field).filter((name) => Object.hasOwn(body, name));
    const missing = Object.entries(this.defaults).filter(([field]) =>
      usedNames(field).length === 0
    );
    const set = Object.entries(this.overrides).flatMap(([field, value]) => {
      const used = usedNames(field);
      return (used.length === 0 ? [field] : used).map((name) =>
        [name, value] as const
      );
    });
    return { ...Object.fromEntries(missing), ...Object.fromEntries(set) };
  }

  /** Returns a body with the fields set. */
  applyTo(body: JsonObject): JsonObject {
    return this.isEmpty ? body : { ...body, ...this.of(body) };
  }
}

/** Names of one field of OpenAI's API; servers that know both use only one of them. */
const outputLimits: readonly string[] = [
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
];

/** Returns all names of a field. */
function namesOf(field: string): readonly string[] {
  return outputLimits.includes(field) ? outputLimits : [field];
}

/** The fields of a body that changes concern. */
export interface ReadBody {
  readonly fields: JsonObject;
  readonly spans: ReadonlyMap<string, JsonSpan>;
}

/**
 * Reads the fields of a body that `selection` has; `undefined` when it is no object.
 * @throws {JsonProblem} When it is not JSON, or servers may read it differently.
 */
export async function readFields(
  body: Uint8Array,
  selection: JsonSelection,
): Promise<ReadBody | undefined> {
  const spans = new Map<string, JsonSpan>();
  const fields = await readJson(body, selection, spans);
  return isJsonObject(fields) ? { fields, spans } : undefined;
}

/**
 * Returns the parts of the body with some fields set; all other bytes are kept, and share its memory.
 * @param inPlaceOfModel Members that replace the field `model`.
 */
export function withFields(
  body: Uint8Array,
  { spans, fields }: ReadBody,
  changes: Readonly<Record<string, JsonValue>>,
  inPlaceOfModel?: Readonly<Record<string, JsonValue>>,
): Uint8Array[] {
  const start = (spans.get("")?.start ?? 0) + 1;
  const edits: Edit[] = [];
  const added: string[] = [];
  for (const [name, value] of Object.entries(changes)) {
    if (name === "model" && inPlaceOfModel !== undefined) continue;
    const span = spans.get(name);
    if (span === undefined) added.push(memberOf(name, value));
    else if (value !== fields[name]) {
      edits.push({ ...span, text: JSON.stringify(value) });
    }
  }
  const model = spans.get("model");
  if (inPlaceOfModel !== undefined) {
    const members = Object.entries(inPlaceOfModel).map(([name, value]) =>
      memberOf(name, value)
    );
    if (model === undefined) added.push(...members);
    else {
      const whole = { start: startOfName(body, model.start), end: model.end };
      edits.push({ ...whole, text: members.join() });
    }
  }
  if (added.length > 0) {
    const text = added.join() + (isEmptyObject(body, start) ? "" : ",");
    edits.push({ start, end: start, text });
  }
  return applyEdits(body, edits);
}

function memberOf(name: string, value: JsonValue): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`;
}

const QUOTE = 0x22;

/** Returns where the name of a member begins; the name has no quotes. */
function startOfName(body: Uint8Array, valueStart: number): number {
  const end = body.lastIndexOf(QUOTE, valueStart - 1);
  return body.lastIndexOf(QUOTE, end - 1);
}

interface Edit extends JsonSpan {
  readonly text: string;
}

function isEmptyObject(body: Uint8Array, start: number): boolean {
  let at = start;
  while ((body[at] ?? 0x7d) <= 0x20) at++;
  return body[at] === 0x7d;
}

function applyEdits(body: Uint8Array, edits: Edit[]): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const { start, end, text } of edits.sort((a, b) => a.start - b.start)) {
    parts.push(body.subarray(at, start), utf8(text));
    at = end;
  }
  parts.push(body.subarray(at));
  return parts;
}
