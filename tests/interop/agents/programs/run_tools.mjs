// Runs a conversation of the AI SDK with a tool and says what the model says last.
import { createRequire } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";

/** Imports a package of the folder with the clients. */
export async function load(name) {
  const require = createRequire(`${process.env.AGENT_CLIENTS}/package.json`);
  return await import(pathToFileURL(require.resolve(name)).href);
}

/** @param model Of the AI SDK. */
export async function runTools(model) {
  const { jsonSchema, stepCountIs, streamText, tool } = await load("ai");
  const result = streamText({
    model,
    system: "Be brief.",
    prompt: "What is the weather in ten cities?",
    stopWhen: stepCountIs(20),
    tools: {
      get_weather: tool({
        description: "Weather of a city",
        inputSchema: jsonSchema({
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
          additionalProperties: false,
        }),
        execute: ({ city }) => `${city}: 12 degrees`,
      }),
    },
    onError({ error }) {
      throw error;
    },
  });
  process.stdout.write(await result.text);
}
