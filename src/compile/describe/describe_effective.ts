import {
  type TrafficPolicy,
  trafficSchema,
} from "../../api/resources/gateway_policy.ts";
import { isJsonObject, type JsonValue, toJson } from "../../base/json.ts";
import type { DescribePolicies } from "../../snapshot/snapshot.ts";
import type { PolicyLayer } from "../policies/effective_policy.ts";
import { createRedaction, type Secrets } from "./redact_configuration.ts";

type Kind = keyof TrafficPolicy;

/** Kinds by what a trace calls them; a rate limit is shown as its two halves. */
const shownNames: readonly (readonly [shown: string, kind: Kind])[] = [
  ["cors", "cors"],
  ["jwt", "jwtAuthentication"],
  ["basicAuth", "basicAuthentication"],
  ["apiKey", "apiKeyAuthentication"],
  ["authorization", "authorization"],
  ["localRateLimit", "rateLimit"],
  ["remoteRateLimit", "rateLimit"],
  ["transformation", "transformation"],
  ["requestHeaderModifier", "requestHeaderModifier"],
  ["responseHeaderModifier", "responseHeaderModifier"],
  ["urlRewrite", "urlRewrite"],
  ["requestRedirect", "requestRedirect"],
  ["directResponse", "directResponse"],
  ["timeout", "timeouts"],
  ["retry", "retry"],
];

/** What is configured of one kind, the least specific first. */
export interface ConfiguredKind {
  readonly kind: Kind;
  readonly layers: readonly Pick<PolicyLayer, "traffic">[];
}

/**
 * Describes the policies of a phase when somebody first asks, and never again.
 * @param kinds All that the phase could have; those that it has not are `null`.
 * @param environment As `ResourceSet.environment`.
 */
export function describeLater(
  configured: readonly ConfiguredKind[],
  kinds: readonly Kind[],
  environment: readonly string[] = [],
): DescribePolicies {
  let known: Readonly<Record<string, JsonValue>> | undefined;
  return (sensitiveHeaders) =>
    known ??= describeKinds(configured, kinds, {
      sensitiveHeaders,
      environment,
    });
}

function describeKinds(
  configured: readonly ConfiguredKind[],
  kinds: readonly Kind[],
  secrets: Secrets,
): Readonly<Record<string, JsonValue>> {
  const redact = createRedaction(secrets);
  const shown: Record<string, JsonValue> = {};
  for (const [name, kind] of shownNames) {
    if (!kinds.includes(kind)) continue;
    const layers = configured.find((each) => each.kind === kind)?.layers ?? [];
    const schema = trafficSchema.entries[kind];
    const configs = layers
      .map(({ traffic }) => partOf(redact(schema, traffic[kind]), name))
      .filter((config) => config !== undefined)
      .map((config) => toJson(config));
    const [only = null, ...others] = configs;
    shown[name] = others.length === 0 ? only : configs;
  }
  return shown;
}

const parts: Readonly<Record<string, string>> = {
  localRateLimit: "local",
  remoteRateLimit: "global",
};

function partOf(config: unknown, shown: string): unknown {
  const part = parts[shown];
  if (part === undefined || !isJsonObject(config)) return config;
  return config[part];
}
