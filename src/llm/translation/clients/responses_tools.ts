import { stringMember } from "../../../base/json.ts";
import type { Tool, ToolOrigin } from "../conversation/conversation.ts";
import type { FieldReader } from "../conversation/field_reader.ts";
import { noCounterpart } from "../conversation/losses.ts";

interface ReadTool {
  readonly tool: Tool;
  readonly origin: ToolOrigin;
}

/** Returns the name under which other APIs know a tool of a namespace. */
export function flatName(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}__${name}`;
}

/**
 * Reads the tools of a request of OpenAI's responses.
 * @returns The tools under flat names, and by these where they come from.
 * @throws {UntranslatableError} For tools that OpenAI runs.
 */
export function readResponsesTools(fields: FieldReader): {
  readonly tools: readonly Tool[];
  readonly origins: ReadonlyMap<string, ToolOrigin>;
} {
  const listed = fields.objects("tools");
  const isSearch = (tool: FieldReader) =>
    webSearch.test(tool.text("type") ?? "");
  const read = listed.filter((tool) => !isSearch(tool))
    .flatMap((tool) => readTool(tool));
  for (const tool of listed.filter(isSearch)) dropSearch(tool, read.length > 0);
  return {
    tools: read.map(({ tool }) => tool),
    origins: new Map(read.map(({ tool, origin }) => [tool.name, origin])),
  };
}

function readTool(tool: FieldReader, namespace?: string): readonly ReadTool[] {
  const type = tool.text("type");
  switch (type) {
    case "function":
      return [readFunction(tool, namespace)];
    case "custom":
      return [readCustom(tool, namespace)];
    case "namespace": {
      const name = tool.required("name", tool.text("name"));
      return tool.objects("tools").flatMap((each) => readTool(each, name));
    }
    case "tool_search":
      // It loads tools with `defer_loading`: the model has them all anyway.
      tool.losses.drop(`${tool.at("type")}: tool_search`);
      return [];
    default:
      throw noCounterpart(`${tool.at("type")}: ${type}`);
  }
}

const webSearch = /^web_search(?:_preview)?$/;

/** Agents such as Codex always offer the search beside tools of their own: the model does without. */
function dropSearch(tool: FieldReader, hasOthers: boolean): void {
  const name = `${tool.at("type")}: web_search`;
  const mayNot = tool.value("external_web_access") === false;
  if (!hasOthers && !mayNot) throw noCounterpart(name);
  tool.losses.drop(name);
}

function readFunction(
  tool: FieldReader,
  namespace: string | undefined,
): ReadTool {
  const name = tool.required("name", tool.text("name"));
  const read = {
    name: flatName(namespace, name),
    description: tool.text("description"),
    schema: tool.json("parameters") ?? { type: "object", properties: {} },
    strict: tool.boolean("strict") ?? false,
  };
  tool.hints({ defer_loading: [false] });
  tool.end();
  return { tool: read, origin: { name, namespace, isCustom: false } };
}

/** Reads a tool whose input is a text, which becomes the one member of an object. */
function readCustom(
  tool: FieldReader,
  namespace: string | undefined,
): ReadTool {
  const name = tool.required("name", tool.text("name"));
  const format = tool.json("format") ?? {};
  const grammar = stringMember(format, "definition");
  const description = tool.text("description") ?? "";
  const read = {
    name: flatName(namespace, name),
    description: grammar === undefined
      ? description
      : `${description}\n\nThe input follows this grammar:\n${grammar}`,
    schema: {
      type: "object",
      properties: { input: { type: "string" } },
      required: ["input"],
      additionalProperties: false,
    },
    strict: false,
  };
  tool.hints({ defer_loading: [false] });
  tool.end();
  return { tool: read, origin: { name, namespace, isCustom: true } };
}
