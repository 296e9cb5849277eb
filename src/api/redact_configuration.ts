import {
  createSensitiveHeaders,
  type Hide,
  hideCompared,
  REDACTION_MARKER,
  redactUrl,
  type SensitiveHeaders,
  sensitiveParameters,
} from "../base/redaction.ts";
import {
  isNeverShown,
  planOfPart,
  type Privacy,
  type PrivacyPlan,
  privacyPlan,
} from "./schema/privacy.ts";
import type { GenericSchema } from "./schema/schema.ts";
import { type Settings, settingsSchema } from "./settings.ts";

/** Returns a copy of a value of `schema` that may be shown. */
export type Redact = (schema: GenericSchema, value: unknown) => unknown;

/** Creates the redaction of one configuration. */
export type RedactionFor = (sensitiveHeaders: SensitiveHeaders) => Redact;

/** Names and texts that are secret besides what the schemas mark. */
export interface Secrets {
  readonly sensitiveHeaders: SensitiveHeaders;
  /** Texts that environment variables gave; see `ResourceSet.environment`. */
  readonly environment: readonly string[];
}

/** Longest string of metadata that is shown: names of teams and the like. */
const MAX_LABEL_LENGTH = 15;

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

/** Returns what may be shown of a string; `holder` is the mapping or list that contains it. */
export type RedactText = (
  text: string,
  privacy: Privacy | undefined,
  holder: object,
) => string;

/** Creates a function that redacts single strings of a configuration by their privacy. */
export function createTextRedaction(
  { sensitiveHeaders, environment }: Secrets,
): RedactText {
  const hide = createHiding(environment);
  const isSensitive = (holder: object) => sensitiveHeaders.has(nameOf(holder));
  return (text, privacy, holder) => {
    switch (privacy) {
      case undefined:
        return text;
      case "secret":
      case "hidden":
        return REDACTION_MARKER;
      case "privateKey":
        return text.includes("-----BEGIN") ? REDACTION_MARKER : hide(text);
      case "label":
        return text.length > MAX_LABEL_LENGTH ? REDACTION_MARKER : hide(text);
      case "url":
        return redactUrl(text);
      case "headerText":
        if (isSensitive(holder) || secretName.test(nameOf(holder))) {
          return REDACTION_MARKER;
        }
        break;
      case "headerValue":
        if (isSensitive(holder)) return REDACTION_MARKER;
        break;
      case "parameterValue":
        if (sensitiveParameters.has(nameOf(holder))) return REDACTION_MARKER;
    }
    return hide(hideCompared(text, sensitiveHeaders));
  };
}

/** Matches names such as `x-upstream-key`, that say what their values are. */
const secretName =
  /(?:^|[-_.])(?:api|access)?(?:key|token|secret|password|credentials?|auth)(?:[-_.]|$)/;

/** Returns the name of the header or parameter that a mapping describes, in lower case. */
function nameOf(holder: object): string {
  return "name" in holder && typeof holder.name === "string"
    ? holder.name.toLowerCase()
    : "";
}

/**
 * Creates a function that copies configuration without its secrets: what its schema marks as private (see `Privacy`), and there
 * what the environment gave.
 */
export function createRedaction(secrets: Secrets): Redact {
  const redactText = createTextRedaction(secrets);
  const redact = (
    holder: object,
    value: unknown,
    plan: PrivacyPlan | undefined,
  ): unknown => {
    if (plan === undefined) return value;
    if (isNeverShown(plan)) return REDACTION_MARKER;
    if (typeof value === "string") {
      return redactText(value, plan.privacy, holder);
    }
    if (Array.isArray(value)) {
      return value.map((item, index) =>
        redact(value, item, planOfPart(plan, String(index)))
      );
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        redact(value, item, planOfPart(plan, name)),
      ]),
    );
  };
  return (schema, value) =>
    value === undefined ? undefined : redact({}, value, privacyPlan(schema));
}

/** Returns the settings without secrets, as plain data. @param environment See `Secrets`. */
export function redactSettings(
  settings: Settings,
  environment: readonly string[] = [],
): unknown {
  const sensitiveHeaders = createSensitiveHeaders(settings.sensitiveHeaders);
  const redact = createRedaction({ sensitiveHeaders, environment });
  return redact(settingsSchema, settings);
}

/** Returns those texts of the environment that a value of `schema` has in the bodies of requests or responses. */
export function contentsFromEnvironment(
  schema: GenericSchema,
  value: unknown,
  environment: readonly string[],
): ReadonlySet<string> {
  const given = environment.filter(isHideable);
  const found = new Set<string>();
  const visit = (part: unknown, plan: PrivacyPlan | undefined): void => {
    if (plan === undefined) return;
    if (typeof part === "string" && plan.privacy === "content") {
      for (const text of given) if (part.includes(text)) found.add(text);
    }
    if (typeof part !== "object" || part === null) return;
    for (const [name, item] of Object.entries(part)) {
      visit(item, planOfPart(plan, name));
    }
  };
  if (given.length > 0) visit(value, privacyPlan(schema));
  return found;
}
