import { objectSchema, text, type Tool } from "../../../cli/dev/mcp/offer.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";

/** Starts a server whose tools have the given descriptions, which `describe` changes. */
export function startDescribedServer(
  descriptions: Readonly<Record<string, string>>,
) {
  const tools: Record<string, Tool> = {};
  const describe = (changed: Readonly<Record<string, string>>) => {
    for (const [name, description] of Object.entries(changed)) {
      const call = () => [text(`called ${name}`)];
      tools[name] = { description, inputSchema: objectSchema(), call };
    }
  };
  describe(descriptions);
  const server = startMcpServer({
    offer: {
      tools,
      prompts: {},
      resources: [],
      resourceTemplates: [],
      readResource: () => undefined,
      completeArgument: () => [],
    },
  });
  return {
    url: `${server.origin}/mcp`,
    describe,
    [Symbol.asyncDispose]: () => server.close(),
  };
}
