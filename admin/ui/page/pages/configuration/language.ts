/** The language of configuration files: their schema, and the variables of expressions. */
import {
  fieldsOf,
  isVariable,
  variableNames,
} from "../../../../../src/policy/cel/variables.ts";
import type { EditorLanguage } from "../../kit/yaml_assist.ts";
import { useLoaded } from "../../server/poll.ts";

/** Returns the language once its schema is loaded. */
export function useLanguage(): EditorLanguage | undefined {
  return useLoaded("schema", loadLanguage).data;
}

async function loadLanguage(signal: AbortSignal): Promise<EditorLanguage> {
  const response = await fetch("schema.json", { signal });
  return {
    schema: await response.json(),
    definitionOf: (text) => /^kind: *(\w+)/m.exec(text)?.[1] ?? "ShortForm",
    words: { "CEL expression": expressionWords() },
  };
}

/** Returns names such as `apiKey` and `request.path`. */
function expressionWords(): readonly string[] {
  return variableNames.flatMap((name) => [
    name,
    ...(isVariable(name) ? fieldsOf(name) ?? [] : []).map((field) =>
      `${name}.${field}`
    ),
  ]);
}
