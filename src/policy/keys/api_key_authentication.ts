import { createHash } from "node:crypto";
import * as s from "../../api/schema/schema.ts";
import { redactValues } from "../../base/redaction.ts";
import {
  bearerChallenge,
  explainAuthentication,
  rejectWith,
} from "../authentication/auth_responses.ts";
import { apiKeyPlace } from "../authentication/credential.ts";
import type { Policy } from "../contract/policy.ts";
import type { PolicyContext } from "../contract/policy.ts";
import { errorOf } from "../../telemetry/failures/explanation.ts";
import { StoredKeyCheck, unknownKey } from "./stored_key_check.ts";
import type { KeyRuleReason } from "./key_rules.ts";
import {
  apiKeyIdentity,
  apiKeyMetadata,
} from "../authentication/request_identity.ts";
import { definePolicy } from "../contract/define_policy.ts";
import type { PolicyProblem, References } from "../contract/policy_kind.ts";
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
const apiKeyAuthenticationSchema = s.refine(
  s.object({
    mode: s.field(
      "`Strict`: requests need a known key. `Optional`: requests without a key pass. `Permissive`: requests with an unknown key pass too. `AnyOf`: requests need a known key, or what another policy of this mode accepts.",
      s.withDefault(
        s.oneOf(["Strict", "Optional", "Permissive", "AnyOf"]),
        "Strict",
      ),
    ),
    keys: s.field(
      "Accepted keys.",
      s.optional(
        s.withPrivacy("hidden", s.list(apiKey, { min: 1, max: 1024 })),
      ),
    ),
    stored: s.field(
      "Accepts the keys in the store of `config.kv` too, which `gwctl keys` creates and revokes.",
      s.optional(s.boolean()),
      false,
    ),
    location: s.field(
      "Place of the key. Default: `Authorization: Bearer` or `X-Api-Key`.",
      s.optional(credentialLocationSchema),
    ),
  }),
  s.rule(
    ({ keys, stored }) => keys !== undefined || stored === true,
    '"keys" or "stored: true" is required',
  ),
);

/** Clients identified by a key of their own. */
export type ApiKeyAuthentication = s.Infer<typeof apiKeyAuthenticationSchema>;

type Reason = "api_key_auth" | KeyRuleReason;

/** Authenticates clients by a key of their own. */
export const apiKeyAuthentication = definePolicy("apiKeyAuthentication", {
  description: "Authenticates clients by an API key.",
  schema: apiKeyAuthenticationSchema,
  phases: ["route", "gateway"],
  merge: "replace",
  access: {
    identity: apiKeyMetadata,
    alternative: "api_key_auth",
    isRequired: ({ mode }) => mode === "Strict" || mode === "AnyOf",
    credentials: ({ location }) => location === undefined ? [] : [location],
  },
  trace: { event: "api_key", stage: "api key", selection: "apiKey" },
  rejections: {
    api_key_auth: {
      explain: explainAuthentication({
        advice:
          "Send a key that `apiKeyAuthentication` lists, or `gwctl keys list` shows as active, in the place that its `location` names.",
        unavailable:
          "Check that the store of `config.kv` can be reached: until then, nobody knows whether the key exists.",
      }),
    },
    api_key_access: {
      explain: (failed) => ({
        cause: `${sentence(errorOf(failed))}.`,
        failing: undefined,
        advice: adviceOn(errorOf(failed)),
      }),
    },
    api_key_budget: {
      explain: (failed) => ({
        cause: failed.finished.status === 503
          ? `A budget of the API key could not be read: ${errorOf(failed)}.`
          : `A budget of the API key rejected the request: ${errorOf(failed)}.`,
        failing: undefined,
        advice:
          "Wait for the time in `retry-after`, or raise the budget of the key, its user or its team: `gwctl keys show <id>`.",
      }),
    },
  },
  checkReferences: checkStore,
}, {
  check: checkApiKeyAuthentication,
  create: (config, options) =>
    createApiKeyAuthentication(
      config,
      config.stored === true ? new StoredKeyCheck(options) : undefined,
    ),
});

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Names the object whose restriction denied the request; see `denyByKey`. */
function adviceOn(error: string): string {
  const [, kind = "key", id] = /; (user|team) (\S+) allows:/.exec(error) ??
    ["", "key", /^key (\S+)/.exec(error)?.[1]];
  return `If it should be allowed, change \`allow\` of the ${kind}: \`gwctl ${kind}s show ${
    id ?? "<id>"
  }\`.`;
}

type Metadata = Readonly<Record<string, unknown>>;

/** Finds a policy that would never know a key. */
function checkStore(
  { stored }: ApiKeyAuthentication,
  { hasStore }: References,
): readonly PolicyProblem[] {
  const message =
    'Cannot accept stored keys: "config.kv" is not set; set it, such as {path: keys.db}, and restart the gateway';
  return stored !== true || hasStore ? [] : [{ path: ["stored"], message }];
}

/** Shortest key that is not guessed, as for `config.adminToken`. */
const MIN_KEY_LENGTH = 16;

/** Finds duplicate keys, whose metadata would be ambiguous, and warns of short ones. */
export function checkApiKeyAuthentication(
  { keys = [] }: ApiKeyAuthentication,
): readonly PolicyProblem[] {
  const hashes = keys.map(hashOf);
  return keys.flatMap(({ key }, index): PolicyProblem[] => {
    const first = hashes.indexOf(hashes[index] ?? "");
    if (first < index) {
      const message = `Duplicate key: it equals keys[${first}]`;
      return [{ path: ["keys", index], message }];
    }
    if (key === undefined || key.length >= MIN_KEY_LENGTH) return [];
    const message =
      `The key has fewer than ${MIN_KEY_LENGTH} characters and can be guessed: use a random one, such as of "openssl rand -hex 32"`;
    return [{ path: ["keys", index, "key"], message, isWarning: true }];
  });
}

/**
 * Authenticates clients by a key of their own. The key does not go upstream; its metadata is `apiKey` in expressions.
 *
 * Keys are stored and compared as SHA-256: the time of a look-up may reveal something about hashes, but nothing about keys.
 * @param inStore Checks those that `keys` does not list.
 */
export function createApiKeyAuthentication(
  { mode, keys = [], location }: ApiKeyAuthentication,
  inStore?: StoredKeyCheck,
): Policy<Reason> {
  const place = apiKeyPlace(location);
  const known = new Map<string, Metadata>(
    keys.map((key) => [hashOf(key), key.metadata ?? {}]),
  );

  const accept = (
    { request, slots, trace }: PolicyContext,
    metadata: Metadata,
    identity: string,
  ) => {
    slots.set(apiKeyMetadata, metadata);
    slots.set(apiKeyIdentity, identity);
    trace?.apply({ apiKey: redactValues(metadata) });
    place.remove(request);
  };
  const onRequest = (context: PolicyContext) => {
    const { request, slots, trace } = context;
    const key = place.read(request);
    if (key === undefined) {
      if (mode === "Strict" || mode === "AnyOf") {
        return reject("API key required", location);
      }
      trace?.skip("no API key");
      return undefined;
    }
    const digest = sha256(key);
    const metadata = known.get(digest);
    if (metadata !== undefined) return accept(context, metadata, digest);
    const found = inStore?.check(digest) ?? unknownKey;
    if ("caller" in found) {
      const { caller } = found;
      accept(context, caller.metadata, caller.id);
      return inStore?.onRequest(context, caller);
    }
    if (found.isUnavailable) return rejectUnavailable(found.problem);
    if (mode !== "Permissive") return reject(found.problem, location);
    // A gateway-phase policy has verified another key.
    slots.set(apiKeyMetadata, undefined);
    slots.set(apiKeyIdentity, undefined);
    trace?.skip(found.problem);
    return undefined;
  };
  return inStore === undefined ? { onRequest } : {
    onRequest,
    onResponse: (context, response) => inStore.onResponse(context, response),
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

function rejectUnavailable(problem: string): Rejection<Reason> {
  const response = rejectWith("temporarily_unavailable", problem, {
    "retry-after": "1",
  });
  return new Rejection("api_key_auth", problem, response);
}

function hashOf({ key, keyHash }: s.Infer<typeof apiKey>) {
  return key === undefined
    ? (keyHash ?? "").slice("sha256:".length)
    : sha256(key);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
