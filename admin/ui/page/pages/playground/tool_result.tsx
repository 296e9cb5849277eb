/** The result of a call of a tool. */
import { Code } from "../../kit/data.tsx";
import { Badge } from "../../kit/layout.tsx";

/** Shows whether the call succeeded, and what it returned. */
export function ToolResult({ result }: { readonly result: unknown }) {
  return (
    <>
      <p class="row" role="status">
        {Object(result).isError
          ? <Badge tone="bad">error</Badge>
          : <Badge tone="good">success</Badge>}
      </p>
      <Code value={textOfResult(result)} label="Result of the tool" />
    </>
  );
}

/** Returns the text of a result that has nothing else; otherwise the result. */
function textOfResult(result: unknown): unknown {
  const { content, structuredContent } = Object(result);
  if (structuredContent !== undefined || !Array.isArray(content)) return result;
  return content.every(({ type }) => type === "text")
    ? content.map(({ text }) => text).join("\n")
    : result;
}
