import { settingsSchema } from "../api/settings.ts";
import { createSensitiveHeaders } from "../base/redaction.ts";
import { createRedaction } from "../api/redact_configuration.ts";
import type { GenericSchema } from "../api/schema/schema.ts";
import { type Candidate, schemasOf } from "./candidate.ts";

/** Shorter secrets, such as `team: red` of a key, occur in other words by chance: they are hidden only where they are a value. */
const MIN_SECRET_LENGTH = 4;

const marker = /<redacted ([0-9]+)>/g;

/** A secret that cannot be hidden, or a marker that stands for none; the message contains no secret. */
export class SecretError extends Error {
  override readonly name = "SecretError";
}

/**
 * Takes the secrets of a valid configuration out of its text, and puts them back: each is replaced by `<redacted N>`.
 */
export class HiddenSecrets {
  readonly #secrets: readonly string[];
  readonly #environment: readonly string[];
  /** Strings of the configuration in force that are no secrets. */
  readonly #shown: readonly string[];
  /** Texts that markers stand for. */
  readonly #hidden: string[] = [];

  constructor(candidate: Candidate) {
    const { environment = [] } = candidate.loaded.resources;
    const found = new Set<string>();
    for (const [value, shown] of redactedPairs(candidate)) {
      collectChanged(value, shown, found);
    }
    this.#shown = shownTexts(candidate);
    // Longest first, so that one that contains another goes as a whole.
    this.#secrets = [...found].toSorted((a, b) => b.length - a.length);
    this.#environment = environment;
  }

  /** Returns the text without secrets. */
  hide(text: string): string {
    let shown = text;
    for (const secret of this.#secrets) {
      for (const form of formsOf(secret)) {
        if (!shown.includes(form)) continue;
        shown = isShort(secret)
          ? shown.replace(valuesOf(form), () => this.#markerOf(form))
          : shown.replaceAll(form, this.#markerOf(form));
      }
    }
    return shown;
  }

  /** Reports whether each secret that the file itself gives was hidden in one of its texts. */
  get areAllHidden(): boolean {
    return this.#secrets.every((secret) =>
      formsOf(secret).some((form) => this.#hidden.includes(form)) ||
      this.#environment.some((given) => given !== "" && secret.includes(given))
    );
  }

  /** Returns the text with its secrets. @throws {SecretError} When a marker stands for nothing. */
  restore(text: string): string {
    return text.replace(marker, (whole, number: string) => {
      const secret = this.#hidden[Number(number) - 1];
      if (secret !== undefined) return secret;
      throw new SecretError(
        `${whole} stands for no secret of the configuration in force: write the value, or a reference such as \${NAME}`,
      );
    });
  }

  /** Removes secrets from a message. */
  clean(message: string): string {
    return this.#hidden.reduce(
      (text, secret) =>
        text.replaceAll(
          isShort(secret)
            ? new RegExp(`(?<!\\w)${RegExp.escape(secret)}(?!\\w)`, "g")
            : secret,
          "<redacted>",
        ),
      message,
    );
  }

  /** Reports whether a configuration uses a secret where it would be shown, because its marker was moved. */
  areRevealedBy(candidate: Candidate): boolean {
    const shown = shownTexts(candidate);
    return [...this.#hidden, ...this.#secrets].some((secret) =>
      // Other values may have contained it before, such as the name of a team.
      countIn(shown, secret) > countIn(this.#shown, secret)
    );
  }

  #markerOf(form: string): string {
    const known = this.#hidden.indexOf(form);
    const index = known >= 0 ? known : this.#hidden.push(form) - 1;
    return `<redacted ${index + 1}>`;
  }
}

function isShort(secret: string): boolean {
  return secret.length < MIN_SECRET_LENGTH;
}

function countIn(texts: readonly string[], secret: string): number {
  return texts.filter((text) =>
    isShort(secret) ? text === secret : text.includes(secret)
  ).length;
}

function shownTexts(candidate: Candidate): readonly string[] {
  const shown: string[] = [];
  for (const [, each] of redactedPairs(candidate)) collectTexts(each, shown);
  return shown;
}

/** Yields each part of a configuration with its redacted copy. */
function* redactedPairs(
  { loaded: { resources, settings }, policies }: Candidate,
): Generator<[value: unknown, shown: unknown]> {
  const redact = createRedaction({
    sensitiveHeaders: createSensitiveHeaders(settings.sensitiveHeaders),
    environment: [],
  });
  const kinds: Readonly<Record<string, GenericSchema>> =
    schemasOf(policies).kinds;
  for (const list of Object.values(resources)) {
    if (!Array.isArray(list)) continue;
    for (const each of list) {
      const schema = typeof each === "object" ? kinds[each.kind] : undefined;
      if (schema !== undefined) yield [each, redact(schema, each)];
    }
  }
  yield [settings, redact(settingsSchema, settings)];
}

/** Collects the strings of `value` that differ in its redacted copy. */
function collectChanged(
  value: unknown,
  shown: unknown,
  into: Set<string>,
): void {
  if (typeof value === "string") {
    if (value !== shown && value !== "") into.add(value);
  } else if (typeof value === "object" && value !== null) {
    const parts = new Map<string, unknown>(
      typeof shown === "object" && shown !== null ? Object.entries(shown) : [],
    );
    for (const [name, part] of Object.entries(value)) {
      collectChanged(part, parts.get(name), into);
    }
  }
}

function collectTexts(value: unknown, into: string[]): void {
  if (typeof value === "string") into.push(value);
  else if (typeof value === "object" && value !== null) {
    for (const part of Object.values(value)) collectTexts(part, into);
  }
}

/** Matches a text where it is a whole value of YAML or JSON, with or without quotes. */
function valuesOf(form: string): RegExp {
  const text = RegExp.escape(form);
  return new RegExp(
    `(?<=[:,[{-][ \\t]*(?:["']|\\n[ \\t]*)?)${text}(?=["']?[ \\t]*(?:[,}\\]#\\n]|$))`,
    "g",
  );
}

/** Lists the ways in which YAML and JSON write a string; several lines are written one by one. */
function formsOf(secret: string): readonly string[] {
  const quoted = JSON.stringify(secret).slice(1, -1);
  const lines = secret.split("\n").map((line) => line.trim()).filter((line) =>
    line.length >= MIN_SECRET_LENGTH
  );
  return [...new Set([secret, quoted, secret.replaceAll("'", "''"), ...lines])]
    .filter((form) => form !== "");
}
