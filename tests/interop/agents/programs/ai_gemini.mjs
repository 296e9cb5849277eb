import process from "node:process";
import { load, runTools } from "./run_tools.mjs";

const { createGoogleGenerativeAI } = await load("@ai-sdk/google");
const google = createGoogleGenerativeAI({
  apiKey: "unused",
  headers: { authorization: "Bearer client-key" },
  baseURL: `${process.env.GATEWAY}/v1beta`,
});
await runTools(google("gemini-3-flash"));
