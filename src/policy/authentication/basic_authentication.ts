import { definePolicy } from "../contract/define_policy.ts";
import {
  checkBasicAuthentication,
  createBasicAuthentication,
} from "./basic_policy.ts";
import { basicAuthenticationSchema } from "./basic_schema.ts";
import { explainAuthentication } from "./auth_responses.ts";
import { basicAuthUser } from "./request_identity.ts";

/** Authenticates users by name and password. */
export const basicAuthentication = definePolicy("basicAuthentication", {
  description: "Authenticates clients by user name and password.",
  schema: basicAuthenticationSchema,
  phases: ["route", "gateway"],
  merge: "replace",
  access: {
    identity: basicAuthUser,
    alternative: "basic_auth",
    isRequired: ({ mode }) => mode === "Strict" || mode === "AnyOf",
    // Logs and traces always hide `Authorization`.
    credentials: () => [],
  },
  trace: { event: "basic_auth", stage: "basic auth", selection: "basicAuth" },
  rejections: {
    basic_auth: {
      explain: explainAuthentication({
        credential: "authorization",
        advice:
          "Send user name and password as `Authorization: Basic …`; compare with the users of `basicAuthentication`.",
        unavailable: "Retry: password checks are slow on purpose, and limited.",
      }),
    },
  },
}, {
  check: (config, { readFile }) => checkBasicAuthentication(config, readFile),
  create: (config, { readFile }) => createBasicAuthentication(config, readFile),
});
