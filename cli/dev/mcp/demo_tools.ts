import type { Clock } from "../../../src/base/clock.ts";
import { text } from "./content.ts";
import { objectSchema, readNumber, readText, type Tool } from "./tool.ts";

/** Tools for people: small enough to call by hand. */
export function createDemoTools(clock: Clock): Record<string, Tool> {
  return {
    echo: {
      description: "Says back what you say",
      inputSchema: objectSchema({ message: { type: "string" } }),
      call: (input) => [text(readText(input, "message"))],
    },
    add: {
      description: "Adds two numbers",
      inputSchema: objectSchema({
        a: { type: "number" },
        b: { type: "number" },
      }),
      call: (
        input,
      ) => [text(String(readNumber(input, "a") + readNumber(input, "b")))],
    },
    current_time: {
      description: "Tells the time in UTC",
      inputSchema: objectSchema(),
      call: () => [text(new Date(clock.now()).toISOString())],
    },
    touch_resource: {
      description: "Tells you that a resource changed, if you subscribed to it",
      inputSchema: objectSchema({ uri: { type: "string" } }),
      async call(input, caller) {
        const uri = readText(input, "uri");
        await caller.resourceUpdated(uri);
        return [text(`Touched ${uri}`)];
      },
    },
  };
}
