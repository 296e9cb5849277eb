import { createHash } from "node:crypto";
import type { ApiKeyAuthentication } from "../../api/policies/api_key_schema.ts";
import { toJson } from "../../base/json.ts";
import { refuseWith } from "./auth_responses.ts";
import { bearerChallenge } from "./challenge.ts";
import { bearerLocation, credentialPlace } from "./credential.ts";
import type { Policy } from "../policy.ts";
import { apiKeyMetadata } from "./request_identity.ts";
import type { PolicyProblem } from "../policy_kind.ts";
import { Refusal } from "../refusal.ts";

type Metadata = Readonly<Record<string, unknown>>;

/** Keys that are listed twice: which metadata counts would be chance. */
export function checkApiKeyAuthentication(
  { keys }: ApiKeyAuthentication,
): readonly PolicyProblem[] {
  const hashes = keys.map(hashOf);
  return hashes.flatMap((hash, index) => {
    const first = hashes.indexOf(hash);
    const message = `Cannot use the key twice: it is that of keys[${first}]`;
    return first < index ? [{ path: ["keys", index], message }] : [];
  });
}

/**
 * Knows clients by a key of their own. The key does not go upstream; its metadata are `apiKey` in expressions.
 *
 * Keys are kept and compared as SHA-256 only: how long a look-up takes says something about hashes, and nothing about keys.
 */
export function createApiKeyAuthentication(
  { mode, keys, location = bearerLocation }: ApiKeyAuthentication,
): Policy {
  const place = credentialPlace(location);
  const known = new Map<string, Metadata>(
    keys.map((key) => [hashOf(key), key.metadata ?? {}]),
  );

  return {
    kind: "apiKeyAuthentication",
    onRequest({ request, slots, trace }) {
      const key = place.read(request);
      if (key === undefined) {
        if (mode === "Strict") return refuse("API key required", location);
        trace?.skip("no API key");
        return undefined;
      }
      const metadata = known.get(sha256(key));
      if (metadata === undefined) {
        const description = "the API key is not known";
        if (mode !== "Permissive") return refuse(description, location);
        // What a gateway-phase policy knows is another key.
        slots.set(apiKeyMetadata, undefined);
        trace?.skip(description);
        return undefined;
      }
      slots.set(apiKeyMetadata, metadata);
      trace?.apply({ apiKey: toJson(metadata) });
      place.remove(request);
    },
  };
}

/** Only keys in `Authorization` have an authentication scheme that can be asked for. */
function refuse(
  description: string,
  { header }: NonNullable<ApiKeyAuthentication["location"]>,
): Refusal {
  const isBearer = header?.name.toLowerCase() === "authorization" &&
    header.prefix?.trim().toLowerCase() === "bearer";
  const response = refuseWith("unauthorized", description, {
    "www-authenticate": isBearer ? bearerChallenge({}) : undefined,
  });
  return new Refusal("api_key_auth", description, response);
}

function hashOf({ key, keyHash }: ApiKeyAuthentication["keys"][number]) {
  return key === undefined
    ? (keyHash ?? "").slice("sha256:".length)
    : sha256(key);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
