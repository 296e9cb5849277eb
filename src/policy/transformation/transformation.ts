import { definePolicy } from "../contract/define_policy.ts";
import { transformationSchema } from "./transformation_schema.ts";

/** Changes requests and responses by expressions. */
export const transformation = definePolicy(
  "transformation",
  {
    description: "Changes requests and responses with expressions.",
    schema: transformationSchema,
    phases: ["route", "gateway", "backend"],
    merge: "replace",
    access: "open",
    trace: {
      event: "transformation",
      stage: "transformation",
      selection: "transformation",
    },
    rejections: {},
  },
  loadCode,
);

/** Expressions take a fifth of the start and 10 MB: only configurations that have them load them. */
async function loadCode() {
  return (await import("./transformation_policy.ts")).code;
}
