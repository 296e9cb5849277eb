import { describeError } from "../../base/errors.ts";
import { redactUrl } from "../../base/redaction.ts";
import { type Privacy, privacyAt } from "./privacy.ts";
import * as s from "./schema.ts";
import { entriesAt } from "./schema_node.ts";
import {
  choicesOf,
  expectedTypeOf,
  hasOwnMessage,
  isAboutField,
  type Issue,
} from "./valibot_schema.ts";
import {
  hintFor,
  hintForKey,
  hintForMissing,
  hintForProviderField,
  isReplacedByProviderFields,
} from "./hints.ts";
import { nearest } from "./suggest.ts";

/** Path to a value inside a resource or document: `["spec", "rules", 0]`. */
export type Path = readonly (string | number)[];

/** One problem with a value. */
export interface Problem {
  readonly path: Path;
  /** Locates the problem: the field's name or its value. */
  readonly at: "key" | "value";
  /** The problem: `expected a list`. */
  readonly message: string;
  /** The actual value as shown to people; omitted when it does not help or is secret. */
  readonly got?: string;
  /** The name or value that was probably intended. */
  readonly suggestion?: string;
  /** Advice to fix the value: `remove the quotes`. */
  readonly remedy?: string;
  /** Position in the string at `path`, in UTF-16 units. */
  readonly offset?: number;
}

/** A valid value with defaults, or all problems. */
export type Validated<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Checks `input` against `schema`; never throws. */
export function validate<S extends s.GenericSchema>(
  schema: S,
  input: unknown,
): Validated<s.Infer<S>> {
  try {
    const result = s.parse(schema, input);
    return result.ok ? result : {
      ok: false,
      problems: result.issues.flatMap((issue) => describeIssue(issue, schema)),
    };
  } catch (error) {
    // A bug in a rule, not a user error: the message still has to name the value.
    const message = `cannot be checked: ${describeError(error)}`;
    return { ok: false, problems: [{ path: [], at: "value", message }] };
  }
}

/** Formats a path: `spec.rules[0].matches`. */
export function formatPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(step)) {
      text += text === "" ? step : `.${step}`;
    } else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}

/** Formats a value for messages: short, on one line. */
export function show(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) {
    return value.length === 0 ? "an empty list" : "a list";
  }
  if (typeof value === "object") return "a mapping";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…"` : text;
}

/** Describes an issue; returns nothing for consequences of another mistake. */
function describeIssue(
  issue: Issue,
  schema: s.GenericSchema,
): Problem | readonly Problem[] {
  const path = pathOf(issue);
  const last = issue.path?.at(-1);
  if (last !== undefined && isAboutField(issue)) {
    const known = choicesOf(issue);
    const remedy = hintForProviderField(last.key, last.input, known) ??
      hintForKey(
        path,
        last.input,
        known,
        (...parent) =>
          hasField(schema, [...path.slice(0, -1), ...parent], last.key),
      );
    const isReportedElsewhere = remedy === "" ||
      isReplacedByProviderFields(last.key, last.input);
    if (isReportedElsewhere) return [];
    if (remedy !== undefined) {
      return { path, at: "key", message: "unknown field", remedy };
    }
    return describeKey(issue, path, isPresent(last.input, last.key));
  }
  if (
    last !== undefined && issue.input === undefined && issue.kind === "schema"
  ) {
    // A variant without its discriminator does not check the other fields.
    return describeMissing(path, issue.type === "variant" ? last.input : {});
  }
  const privacy = privacyAt(schema, path);
  if (hasOwnMessage(issue)) return describeRule(issue, path, privacy);
  const choices = choicesOf(issue);
  if (choices.length > 0) return describeChoice(issue, path, choices);
  const expected = expectedTypeOf(issue);
  return {
    path,
    at: "value",
    message: `expected ${expected}`,
    got: showPrivate(issue.input, privacy),
    ...(isShowable(privacy)
      ? hintFor(expected, issue.input, path)
      : hintForCredentials(issue.input, path)),
  };
}

function hintForCredentials(
  input: unknown,
  path: Path,
): { readonly remedy?: string } {
  return path.at(-1) === "credentials" && typeof input === "string"
    ? { remedy: "name the environment variable that has it: { fromEnv: NAME }" }
    : {};
}

/** Reports whether a message may quote a value, or advise with a part of it. */
function isShowable(privacy: Privacy | undefined): boolean {
  return privacy === undefined || privacy === "text";
}

/** Formats a value as `show` does, without secrets. */
function showPrivate(value: unknown, privacy: Privacy | undefined): string {
  if (isShowable(privacy) || typeof value === "object") return show(value);
  const url = privacy === "url" ? redactUrl(String(value)) : "@";
  // An invalid URL may have credentials where no URL has them.
  return url.replace("<redacted>@", "").includes("@") ? "a string" : show(url);
}

function hasField(schema: s.GenericSchema, path: Path, key: unknown): boolean {
  return entriesAt(schema, path).some((entries) =>
    Object.hasOwn(entries, String(key))
  );
}

function pathOf(issue: Issue): Path {
  return (issue.path ?? []).map(({ key }) =>
    typeof key === "number" ? key : String(key)
  );
}

function isPresent(input: unknown, key: unknown): boolean {
  return typeof input === "object" && input !== null &&
    Object.hasOwn(input, String(key));
}

/**
 * Reports a missing field, and siblings that are probably misspellings of it.
 * @param siblings The mapping without the field; empty when its other fields are checked elsewhere.
 */
export function describeMissing(
  path: Path,
  siblings: unknown,
): readonly Problem[] {
  const name = String(path.at(-1));
  const fields = Object.keys(Object(siblings));
  return [
    { path, at: "value", message: "required field is missing" },
    ...fields.filter((field) => nearest(field, [name]) === name).map((
      field,
    ) => ({
      path: [...path.slice(0, -1), field],
      at: "key" as const,
      message: "unknown field",
      suggestion: name,
    })),
  ];
}

function describeKey(issue: Issue, path: Path, present: boolean): Problem {
  if (!present) {
    const message = "required field is missing";
    return { path, at: "value", message, ...hintForMissing(path) };
  }
  const known = choicesOf(issue);
  const suggestion = nearest(String(issue.input), known);
  if (suggestion !== undefined) {
    return { path, at: "key", message: "unknown field", suggestion };
  }
  const message = known.length > 16 || known.length === 0
    ? "unknown field"
    : `unknown field, expected one of ${known.join(", ")}`;
  return { path, at: "key", message };
}

function describeRule(
  issue: Issue,
  path: Path,
  privacy: Privacy | undefined,
): Problem {
  const { message } = issue;
  const showsValue = message.startsWith("expected ") &&
    !message.includes("not shown") &&
    issue.input !== "";
  return {
    path,
    at: "value",
    message,
    ...(showsValue && (isShowable(privacy) || privacy === "url") &&
      { got: showPrivate(issue.input, privacy) }),
    ...(message.startsWith("expected a duration ")
      ? durationHint(issue.input)
      : showsValue && issue.type === "string" && isShowable(privacy) &&
        hintFor("a string", issue.input, path)),
  };
}

/** Suggests `30s` for `30` and `30 sec`. */
function durationHint(input: unknown): { suggestion?: string } {
  const [, amount, unit = "s"] =
    /^([0-9]{1,5}) ?(ms|s|m|h)?(?:ec(?:onds?)?|in(?:utes?)?)?$/.exec(
      String(input),
    ) ?? [];
  return amount === undefined ? {} : { suggestion: `${amount}${unit}` };
}

function describeChoice(
  issue: Issue,
  path: Path,
  choices: readonly string[],
): Problem {
  const list = choices.map((choice) =>
    /^\d+$/.test(choice) ? choice : JSON.stringify(choice)
  );
  const suggestion = typeof issue.input === "string" && choices.length > 1
    ? nearest(issue.input, choices)
    : undefined;
  return {
    path,
    at: "value",
    message: list.length === 1
      ? `expected ${list[0]}`
      : `expected one of ${list.join(", ")}`,
    got: show(issue.input),
    ...(suggestion !== undefined && { suggestion }),
  };
}
