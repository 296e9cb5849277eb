import { addressOfUrl } from "../../../identity/documents/document_client.ts";
import { CookieNames } from "../../../identity/openid/login_cookies.ts";
import { errorOf } from "../../../telemetry/failures/explanation.ts";
import { jwtClaims } from "../../authentication/request_identity.ts";
import { definePolicy } from "../../contract/define_policy.ts";
import type { PolicyProblem, References } from "../../contract/policy_kind.ts";
import { bindingOf, createOidc } from "./oidc_policy.ts";
import { type Oidc, oidcSchema, ownPathsOf } from "./oidc_schema.ts";
import { checkOidc, checkOidcRefs } from "./oidc_secrets.ts";

/** Logs users of browsers in at an OpenID provider, with sessions in sealed cookies. */
export const oidc = definePolicy("oidc", {
  description:
    "Logs users of browsers in at an OpenID provider, with sessions in cookies.",
  schema: oidcSchema,
  phases: ["route", "gateway"],
  merge: "replace",
  access: {
    identity: jwtClaims,
    alternative: "oidc",
    isRequired: () => true,
    credentials: (config) =>
      new CookieNames(bindingOf(config).name).ofSession
        .map((name) => ({ cookie: { name } })),
  },
  rejections: {
    oidc: {
      explain: (failed) => ({
        cause: failed.finished.status === 503
          ? `The session of the browser could not be checked: ${
            errorOf(failed)
          }.`
          : failed.finished.status === 403
          ? `The browser login rejected the request: ${errorOf(failed)}.`
          : `The user is not logged in: ${errorOf(failed)}.`,
        failing: undefined,
        advice: failed.finished.status === 503
          ? "Check that the identity provider and the store of `config.kv` can be reached."
          : failed.finished.status === 403
          ? "If the identity provider denied the login, its log has the reason. If pages of another origin may send such requests, add it to `allowedOrigins`."
          : "Open the page in a browser: only navigations lead to the login. For programs, add `jwtAuthentication` or `apiKeyAuthentication`, all with `mode: AnyOf`.",
      }),
    },
  },
  ownPaths: (config) => Object.values(ownPathsOf(config)),
  checkReferences: (config, references) => [
    ...checkIssuer(config, references),
    ...checkOidcRefs(config, references),
  ],
}, {
  check: (config, { readFile }) => checkOidc(config, readFile),
  create: createOidc,
});

function checkIssuer(
  { issuer }: Oidc,
  references: References,
): readonly PolicyProblem[] {
  const denial = references.denialOf(addressOfUrl(issuer).connection);
  const message = `Cannot connect to the issuer: ${denial}`;
  return denial === undefined ? [] : [{ path: ["issuer"], message }];
}
