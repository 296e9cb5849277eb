import { type JsonObject, objectAt, valueAt } from "../../../src/base/json.ts";

/** A call that the "model" asks for. */
export interface ToolCall {
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

/** Returns a call of the first tool whose name the question mentions: `add 2 and 3` calls `add`. */
export function toolCallFor(
  question: string,
  tools: unknown,
): ToolCall | undefined {
  if (!Array.isArray(tools)) return undefined;
  const words = question.toLowerCase().split(/[^\w-]+/);
  for (const tool of tools) {
    const { name, parameters } = objectAt(tool, "function");
    if (typeof name !== "string" || !words.includes(name.toLowerCase())) {
      continue;
    }
    const properties = objectAt(parameters, "properties");
    const given = argumentsFor(question, name, properties);
    return { name, arguments: JSON.stringify(given) };
  }
  return undefined;
}

/** Takes numbers from the question for numbers, and what follows the tool's name for strings. */
function argumentsFor(
  question: string,
  name: string,
  properties: JsonObject,
): JsonObject {
  const numbers = question.match(/-?\d+(?:\.\d+)?/g) ?? [];
  const at = question.toLowerCase().indexOf(name.toLowerCase());
  const rest = question.slice(at + name.length).trim();
  const given = Object.entries(properties).map(([property, schema]) => {
    const type = valueAt(schema, "type");
    const isNumber = type === "number" || type === "integer";
    return [property, isNumber ? Number(numbers.shift() ?? 0) : rest];
  });
  return Object.fromEntries(given);
}
