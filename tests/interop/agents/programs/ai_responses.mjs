import process from "node:process";
import { load, runTools } from "./run_tools.mjs";

const { createOpenAI } = await load("@ai-sdk/openai");
const openai = createOpenAI({
  apiKey: "client-key",
  baseURL: `${process.env.GATEWAY}/v1`,
});
await runTools(openai.responses("model"));
