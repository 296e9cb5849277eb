import { policyBackendRefSchema } from "../../api/resources/policy_references.ts";
import { hostAndPort } from "../../api/schema/address.ts";
import { positiveDuration } from "../../api/schema/duration.ts";
import { headerName, urlPath } from "../../api/schema/scalars.ts";
import * as s from "../../api/schema/schema.ts";

const place = {
  backendRef: s.field(
    "A backend, for an authorizer behind TLS.",
    s.optional(policyBackendRefSchema),
  ),
  host: s.field("`host:port`, without TLS.", s.optional(hostAndPort)),
};

const grpc = s.refine(
  s.object({
    ...place,
    contextExtensions: s.field(
      "Values for the authorizer about this route.",
      s.optional(s.map(s.text(256), s.text(4096))),
    ),
  }),
  s.exactlyOne("backendRef", "host"),
);

const http = s.refine(
  s.object({
    ...place,
    path: s.field(
      "Prefix of the path of requests to the authorizer, before that of the request.",
      s.optional(urlPath),
    ),
  }),
  s.exactlyOne("backendRef", "host"),
);

/** Asks an external authorizer about each request. */
export const extAuthzSchema = s.refine(
  s.object({
    grpc: s.field(
      "An authorizer with Envoy's protocol, `envoy.service.auth.v3.Authorization/Check`.",
      s.optional(grpc),
    ),
    http: s.field(
      "An authorizer with plain HTTP: it gets method, path and host of the request; 200 allows it, 5xx is an error, and everything else is the response.",
      s.optional(http),
    ),
    headersToExtAuth: s.field(
      "Headers of the request for the authorizer, besides `Authorization`. Default: all for `grpc`, no others for `http`.",
      s.optional(s.list(headerName, { max: 64 })),
    ),
    headersToBackend: s.field(
      "Headers that only the authorizer sets: those of clients are removed, and those of an HTTP response that allows the request go to the backend.",
      s.optional(s.list(headerName, { max: 64 })),
    ),
    bodyToExtAuth: s.field(
      "Sends the body of the request, too, with its `Content-Type` and `Content-Encoding`. Default: none.",
      s.optional(s.object({
        maxRequestBytes: s.field(
          "Longer bodies get 413.",
          s.withDefault(s.integer(1, 1 << 20), 8192),
        ),
      })),
    ),
    timeout: s.field(
      "Time that a request waits for the authorizer; then `failureMode` decides.",
      s.withDefault(positiveDuration, "200ms"),
    ),
    failureMode: s.field(
      "Requests while the authorizer does not respond as it should: `Closed` rejects them with 503, `Open` forwards them.",
      s.withDefault(s.oneOf(["Closed", "Open"]), "Closed"),
    ),
  }),
  s.exactlyOne("grpc", "http"),
);

/** Asks an external authorizer about each request. */
export type ExtAuthz = s.Infer<typeof extAuthzSchema>;
