// Runs a conversation of an official SDK with a tool, whose name is the argument, and says what the model says last.
import process from "node:process";
import { load } from "./run_tools.mjs";

const MAX_TURNS = 20;
const apiKey = "client-key";
const gateway = process.env.GATEWAY;
const task = "What is the weather in ten cities?";
const name = "get_weather";
const description = "Weather of a city";
const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

function weatherOf({ city }) {
  return `${city}: 12 degrees`;
}

/** @param turn Sends what was said so far; returns the text of an answer without calls. */
async function converse(turn) {
  for (let turns = 0; turns < MAX_TURNS; turns++) {
    const text = await turn();
    if (text !== undefined) return text;
  }
  throw new Error("too many turns");
}

const sdks = {
  async chat() {
    const { default: OpenAI } = await load("openai");
    const { chat } = new OpenAI({ apiKey, baseURL: `${gateway}/v1` });
    const messages = [{ role: "user", content: task }];
    const tools = [{
      type: "function",
      function: { name, description, parameters: schema },
    }];
    return await converse(async () => {
      const { choices: [{ message }] } = await chat.completions.create({
        ...{ model: "model", messages, tools },
      });
      messages.push(message);
      for (
        const { id, function: { arguments: text } } of message.tool_calls ?? []
      ) {
        const content = weatherOf(JSON.parse(text));
        messages.push({ role: "tool", tool_call_id: id, content });
      }
      return message.tool_calls ? undefined : message.content;
    });
  },

  async responses() {
    const { default: OpenAI } = await load("openai");
    const { responses } = new OpenAI({ apiKey, baseURL: `${gateway}/v1` });
    const input = [{ role: "user", content: task }];
    const tools = [{
      ...{ type: "function", name, description, strict: false },
      parameters: schema,
    }];
    return await converse(async () => {
      const stream = responses.stream({ model: "model", input, tools });
      const { output, output_text } = await stream.finalResponse();
      input.push(...output.map(({ parsed_arguments: _, ...item }) => item));
      const calls = output.filter(({ type }) => type === "function_call");
      for (const { call_id, arguments: text } of calls) {
        const output = weatherOf(JSON.parse(text));
        input.push({ type: "function_call_output", call_id, output });
      }
      return calls.length > 0 ? undefined : output_text;
    });
  },

  async messages() {
    const { default: Anthropic } = await load("@anthropic-ai/sdk");
    const client = new Anthropic({ authToken: apiKey, baseURL: gateway });
    const messages = [{ role: "user", content: task }];
    const tools = [{ name, description, input_schema: schema }];
    return await converse(async () => {
      const { content } = await client.messages.stream({
        ...{ model: "model", max_tokens: 1000, messages, tools },
      }).finalMessage();
      messages.push({ role: "assistant", content });
      const calls = content.filter(({ type }) => type === "tool_use");
      if (calls.length === 0) return content[0].text;
      messages.push({
        role: "user",
        content: calls.map(({ id, input }) => ({
          ...{ type: "tool_result", tool_use_id: id },
          content: weatherOf(input),
        })),
      });
    });
  },

  async gemini() {
    const { GoogleGenAI } = await load("@google/genai");
    const { models } = new GoogleGenAI({
      apiKey,
      httpOptions: {
        baseUrl: gateway,
        headers: { authorization: `Bearer ${apiKey}` },
      },
    });
    const contents = [{ role: "user", parts: [{ text: task }] }];
    const declaration = { name, description, parametersJsonSchema: schema };
    const config = { tools: [{ functionDeclarations: [declaration] }] };
    return await converse(async () => {
      const answer = await models.generateContent({
        ...{ model: "gemini-3-flash", contents, config },
      });
      contents.push(answer.candidates[0].content);
      const calls = answer.functionCalls ?? [];
      if (calls.length === 0) return answer.text;
      contents.push({
        role: "user",
        parts: calls.map(({ id, name, args }) => ({
          functionResponse: { id, name, response: { output: weatherOf(args) } },
        })),
      });
    });
  },
};

process.stdout.write(await sdks[process.argv[2]]());
