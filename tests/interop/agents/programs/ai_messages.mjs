import process from "node:process";
import { load, runTools } from "./run_tools.mjs";

const { createAnthropic } = await load("@ai-sdk/anthropic");
const anthropic = createAnthropic({
  authToken: "client-key",
  baseURL: `${process.env.GATEWAY}/v1`,
});
await runTools(anthropic("claude-sonnet-4-5"));
