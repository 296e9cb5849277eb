import type { GenericSchema } from "../../api/schema/schema.ts";
import {
  type Privacy,
  type PrivacyPlan,
  privacyPlan,
} from "../../api/schema/privacy.ts";
import {
  type Hide,
  hideCompared,
  REDACTION_MARKER,
  redactUrl,
  type SensitiveHeaders,
  sensitiveParameters,
} from "../../base/redaction.ts";

/** Returns a copy of a value of `schema` that may be shown. */
export type Redact = (schema: GenericSchema, value: unknown) => unknown;

/** Names and texts that are secret besides what the schemas mark. */
export interface Secrets {
  readonly sensitiveHeaders: SensitiveHeaders;
  /** Texts that environment variables gave; see `ResourceSet.environment`. */
  readonly environment: readonly string[];
}

/** Reports whether a string from the environment may be a secret: shorter ones occur elsewhere by chance. */
export function isHideable(text: string): boolean {
  return text.length >= 6;
}

/** Takes out of texts what the environment gave; see `ResourceSet.environment`. */
export function createHiding(environment: readonly string[] = []): Hide {
  // Longest first, so that what holds another goes as a whole.
  const given = environment.filter(isHideable)
    .toSorted((a, b) => b.length - a.length);
  return (text) =>
    given.reduce(
      (shown, secret) => shown.replaceAll(secret, REDACTION_MARKER),
      text,
    );
}

/**
 * Creates a function that copies configuration without its secrets: what its schema marks as private (see `Privacy`), and there
 * what the environment gave.
 */
export function createRedaction(
  { sensitiveHeaders, environment }: Secrets,
): Redact {
  const hide = createHiding(environment);
  const redactText = (text: string, privacy: Privacy | undefined) => {
    if (privacy === undefined) return text;
    return privacy === "url"
      ? redactUrl(text)
      : hide(hideCompared(text, sensitiveHeaders));
  };
  const isSensitive = (privacy: Privacy | undefined, holder: object) => {
    if (privacy === "secret") return true;
    if (!("name" in holder) || typeof holder.name !== "string") return false;
    const name = holder.name.toLowerCase();
    return privacy === "headerValue" && sensitiveHeaders.has(name) ||
      privacy === "parameterValue" && sensitiveParameters.has(name);
  };
  const redact = (value: unknown, plan: PrivacyPlan | undefined): unknown => {
    if (plan === undefined) return value;
    if (typeof value === "string") return redactText(value, plan.privacy);
    if (Array.isArray(value)) {
      return value.map((item) => redactIn(value, item, plan.items));
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        redactIn(value, item, plan.fields?.get(name) ?? plan.items),
      ]),
    );
  };
  const redactIn = (
    holder: object,
    item: unknown,
    plan: PrivacyPlan | undefined,
  ) =>
    isSensitive(plan?.privacy, holder) ? REDACTION_MARKER : redact(item, plan);
  return (schema, value) =>
    value === undefined ? undefined : redactIn({}, value, privacyPlan(schema));
}
