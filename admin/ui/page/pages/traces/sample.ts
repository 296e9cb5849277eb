/** The variables that expressions are tested with. */
import { signal } from "../../kit/framework.ts";

/** A request to start with. */
const written = {
  request: {
    method: "POST",
    scheme: "https",
    host: "api.example.com",
    path: "/mcp",
    pathAndQuery: "/mcp",
    headers: { "content-type": "application/json", "x-team": "blue" },
    startTime: "2026-01-01T12:00:00Z",
  },
  source: { address: "10.0.0.7", port: 51234 },
  jwt: { sub: "ada", roles: ["editor"], scope: "tools:read" },
  mcp: { methodName: "tools/call", tool: { name: "echo", arguments: {} } },
  llm: { provider: "chat", requestModel: "gpt-5-mini", streaming: true },
};

/** The variables as JSON, as the user edits them. */
export const variablesText = signal(JSON.stringify(written, undefined, 2));

/** The expression as the user edits it. */
export const expressionText = signal(
  'request.headers["x-team"] == "blue" && "editor" in jwt.roles',
);

/** Takes the state of a traced request. */
export function tryOn(requestState: unknown): void {
  variablesText.value = JSON.stringify(requestState, undefined, 2);
}
