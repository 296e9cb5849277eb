import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { splitHostPort } from "../../base/wire/host_port.ts";
import { errorOf } from "../../telemetry/failures/explanation.ts";
import { definePolicy, noProblems } from "../contract/define_policy.ts";
import type { PolicyProblem, References } from "../contract/policy_kind.ts";
import { authorizerMetadata } from "../authentication/request_identity.ts";
import { type ExtAuthz, extAuthzSchema } from "./ext_authz_schema.ts";

/** Asks an external authorizer about each request. */
export const extAuthz = definePolicy("extAuthz", {
  description: "Asks an external authorizer, by gRPC or HTTP.",
  schema: extAuthzSchema,
  phases: ["route", "gateway"],
  merge: "replace",
  access: {
    identity: authorizerMetadata,
    isRequired: () => true,
    credentials: () => [],
  },
  rejections: {
    ext_authz: {
      explain: (failed) => ({
        cause: `${errorOf(failed)}.`,
        failing: undefined,
        advice: failed.finished.status === 503
          ? "Check that the authorizer of `extAuthz` responds within its `timeout`; `failureMode: Open` forwards requests meanwhile."
          : "The authorizer of `extAuthz` decides; its response is what the client got.",
      }),
    },
  },
  checkReferences: checkAuthorizer,
}, async () => {
  const { createExtAuthz } = await import("./ext_authz_policy.ts");
  return { check: noProblems, create: createExtAuthz };
});

function checkAuthorizer(
  { grpc, http }: ExtAuthz,
  references: References,
): readonly PolicyProblem[] {
  const name = grpc === undefined ? "http" : "grpc";
  const { host, backendRef } = grpc ?? http ?? {};
  if (host !== undefined) {
    const address = splitHostPort(host);
    const denial = address && references.denialOf(address);
    const path: DiagnosticPath = [name, "host"];
    const message = `Cannot connect to "${host}": ${denial}`;
    return denial === undefined ? [] : [{ path, message }];
  }
  if (backendRef === undefined) return [];
  const path: DiagnosticPath = [name, "backendRef"];
  const backend = references.backend(backendRef);
  if (backend === undefined) return [references.missing(backendRef, path)];
  const message =
    `Cannot use backend "${backend.key}" for gRPC: expected HTTP/2`;
  return grpc !== undefined && backend.protocol === "http1"
    ? [{ path: [...path, "name"], message }]
    : [];
}
