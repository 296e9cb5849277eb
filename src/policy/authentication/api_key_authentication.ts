import { createHash } from "node:crypto";
import * as s from "../../api/schema/schema.ts";
import { redactValues } from "../../base/redaction.ts";
import {
  bearerChallenge,
  explainAuthentication,
  rejectWith,
} from "./auth_responses.ts";
import { apiKeyPlace } from "./credential.ts";
import type { Policy } from "../contract/policy.ts";
import { apiKeyMetadata } from "./request_identity.ts";
import { definePolicy } from "../contract/define_policy.ts";
import type { PolicyProblem } from "../contract/policy_kind.ts";
import { Rejection } from "../contract/rejection.ts";
import { credentialLocationSchema } from "../contract/credential_location.ts";

const apiKey = s.refine(
  s.object({
    key: s.field("The key itself.", s.optional(s.secret())),
    keyHash: s.field(
      "Hash of the key, in place of it: `sha256:` and the digest in lower-case hexadecimal digits.",
      s.optional(
        s.withPrivacy(
          "secret",
          s.pattern(
            /^sha256:[0-9a-f]{64}$/,
            '"sha256:" and 64 hexadecimal digits',
          ),
        ),
      ),
    ),
    metadata: s.field(
      "Metadata of the caller: `apiKey` in expressions.",
      s.optional(s.withPrivacy("label", s.map(s.string(), s.unknown()))),
    ),
  }),
  s.exactlyOne("key", "keyHash"),
);

/** Clients identified by a key of their own. */
const apiKeyAuthenticationSchema = s.object({
  mode: s.field(
    "`Strict`: requests need a known key. `Optional`: requests without a key pass. `Permissive`: requests with an unknown key pass too.",
    s.withDefault(s.oneOf(["Strict", "Optional", "Permissive"]), "Strict"),
  ),
  keys: s.field(
    "Accepted keys.",
    s.withPrivacy("hidden", s.list(apiKey, { min: 1, max: 1024 })),
  ),
  location: s.field(
    "Place of the key. Default: `Authorization: Bearer` or `X-Api-Key`.",
    s.optional(credentialLocationSchema),
  ),
});

/** Clients identified by a key of their own. */
export type ApiKeyAuthentication = s.Infer<typeof apiKeyAuthenticationSchema>;

type Reason = "api_key_auth";

/** Authenticates clients by a key of their own. */
export const apiKeyAuthentication = definePolicy("apiKeyAuthentication", {
  description: "Authenticates clients by an API key.",
  schema: apiKeyAuthenticationSchema,
  phases: ["route", "gateway"],
  merge: "replace",
  access: {
    identity: apiKeyMetadata,
    isRequired: ({ mode }) => mode === "Strict",
    credentials: ({ location }) => location === undefined ? [] : [location],
  },
  trace: { event: "api_key", stage: "api key", selection: "apiKey" },
  rejections: {
    api_key_auth: {
      explain: explainAuthentication({
        advice:
          "Send a key that `apiKeyAuthentication` lists, in the place that its `location` names.",
      }),
    },
  },
}, {
  check: checkApiKeyAuthentication,
  create: createApiKeyAuthentication,
});

type Metadata = Readonly<Record<string, unknown>>;

/** Finds duplicate keys, whose metadata would be ambiguous. */
export function checkApiKeyAuthentication(
  { keys }: ApiKeyAuthentication,
): readonly PolicyProblem[] {
  const hashes = keys.map(hashOf);
  return hashes.flatMap((hash, index) => {
    const first = hashes.indexOf(hash);
    const message = `Duplicate key: it equals keys[${first}]`;
    return first < index ? [{ path: ["keys", index], message }] : [];
  });
}

/**
 * Authenticates clients by a key of their own. The key does not go upstream; its metadata is `apiKey` in expressions.
 *
 * Keys are stored and compared as SHA-256: the time of a look-up may reveal something about hashes, but nothing about keys.
 */
export function createApiKeyAuthentication(
  { mode, keys, location }: ApiKeyAuthentication,
): Policy<Reason> {
  const place = apiKeyPlace(location);
  const known = new Map<string, Metadata>(
    keys.map((key) => [hashOf(key), key.metadata ?? {}]),
  );

  return {
    onRequest({ request, slots, trace }) {
      const key = place.read(request);
      if (key === undefined) {
        if (mode === "Strict") return reject("API key required", location);
        trace?.skip("no API key");
        return undefined;
      }
      const metadata = known.get(sha256(key));
      if (metadata === undefined) {
        const description = "the API key is not known";
        if (mode !== "Permissive") return reject(description, location);
        // A gateway-phase policy has verified another key.
        slots.set(apiKeyMetadata, undefined);
        trace?.skip(description);
        return undefined;
      }
      slots.set(apiKeyMetadata, metadata);
      trace?.apply({ apiKey: redactValues(metadata) });
      place.remove(request);
    },
  };
}

/** Rejects a request; only keys in `Authorization` have a scheme for a challenge. */
function reject(
  description: string,
  location: ApiKeyAuthentication["location"],
): Rejection<Reason> {
  const header = location?.header;
  const isBearer = location === undefined ||
    header?.name.toLowerCase() === "authorization" &&
      header.prefix?.trim().toLowerCase() === "bearer";
  const response = rejectWith("unauthorized", description, {
    "www-authenticate": isBearer ? bearerChallenge({}) : undefined,
  });
  return new Rejection("api_key_auth", description, response);
}

function hashOf({ key, keyHash }: ApiKeyAuthentication["keys"][number]) {
  return key === undefined
    ? (keyHash ?? "").slice("sha256:".length)
    : sha256(key);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
