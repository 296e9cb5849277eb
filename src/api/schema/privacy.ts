/** Marks the parts of a schema whose values may be secret, so that displays of a value can redact them. */
import {
  isSchema,
  type SchemaEntries,
  type SchemaNode,
} from "./schema_node.ts";

/**
 * Redaction of a value.
 * - `secret`: never shown.
 * - `hidden`: not shown as a whole; in the source, each part as its own mark says.
 * - `text`: without values of the environment; for expressions and other free text.
 * - `content`: as `text`, at any depth; bodies of requests or responses have it, so traces redact values of the environment there.
 * - `label`: as `text`, at any depth; longer strings than names of teams and the like are never shown.
 * - `privateKey`: never shown, unless it is the path of a file.
 * - `url`: without credentials.
 * - `headerValue`: as `text`; never shown if the sibling `name` is a sensitive header.
 * - `headerText`: as `headerValue`, of text that is no expression; never shown if the name of the header says that it is secret.
 * - `parameterValue`: as `text`; never shown if the sibling `name` is a sensitive query parameter.
 */
export type Privacy =
  | "secret"
  | "hidden"
  | "text"
  | "content"
  | "label"
  | "privateKey"
  | "url"
  | "headerValue"
  | "headerText"
  | "parameterValue";

/** Private parts of the values of a schema. A schema without any has no plan. */
export interface PrivacyPlan {
  readonly privacy?: Privacy;
  /** Plans of fields, by name. */
  readonly fields?: ReadonlyMap<string, PrivacyPlan>;
  /** Plan of list items, and of fields that the schema does not name. */
  readonly items?: PrivacyPlan;
}

const marks = new WeakMap<object, Privacy>();

/** Returns `schema` with a mark for its values. */
export function withPrivacy<S extends object>(privacy: Privacy, schema: S): S {
  const marked = { ...schema };
  marks.set(marked, privacy);
  return marked;
}

const plans = new WeakMap<object, { readonly plan: PrivacyPlan | undefined }>();

/** Returns where the values of `schema` may hold secrets; `undefined` when they cannot. */
export function privacyPlan(schema: SchemaNode): PrivacyPlan | undefined {
  const known = plans.get(schema);
  if (known !== undefined) return known.plan;
  const plan = join(...plansOf(schema));
  plans.set(schema, { plan });
  return plan;
}

/** Returns the plan of a part of a value: a field by its name, or an item of a list. */
export function planOfPart(
  plan: PrivacyPlan | undefined,
  name: string,
): PrivacyPlan | undefined {
  const part = plan?.fields?.get(name) ?? plan?.items;
  if (part !== undefined || plan?.privacy === undefined) return part;
  // Of what is private as a whole, the schema need not name the parts.
  return inherited.has(plan.privacy) ? { privacy: plan.privacy } : undefined;
}

const inherited: ReadonlySet<Privacy> = new Set(["secret", "content", "label"]);

/**
 * Returns the mark of the value that `path` leads to, or of the innermost one around it that is never shown. What has secret fields
 * is secret itself: a text in its place may be one of them.
 */
export function privacyAt(
  schema: SchemaNode,
  path: readonly (string | number)[],
): Privacy | undefined {
  let plan = privacyPlan(schema);
  for (const step of path) {
    if (isNeverShown(plan)) return plan?.privacy;
    plan = planOfPart(plan, String(step));
  }
  return plan?.privacy ?? (hasSecretFields(plan) ? "secret" : undefined);
}

/** Depth to which a value in place of a mapping may be meant for one of its fields. */
const MISPLACED_DEPTH = 2;

/** Reports whether a field of a value, or of a field, is never shown: a value in place of it may be that. */
function hasSecretFields(
  plan: PrivacyPlan | undefined,
  depth = MISPLACED_DEPTH,
): boolean {
  if (plan === undefined || depth === 0) return false;
  const parts = [...plan.fields?.values() ?? [], plan.items];
  return parts.some((part) =>
    isNeverShown(part) || hasSecretFields(part, depth - 1)
  );
}

/** Reports whether a value is replaced as a whole where configuration is shown. */
export function isNeverShown(plan: PrivacyPlan | undefined): boolean {
  return plan?.privacy === "secret" || plan?.privacy === "hidden";
}

function plansOf(
  schema: SchemaNode,
): readonly (PrivacyPlan | undefined)[] {
  const privacy = marks.get(schema);
  const own = privacy === undefined ? undefined : { privacy };
  const { pipe, wrapped, options = [], entries } = schema;
  if (pipe !== undefined) {
    // The first of a pipe is the schema itself, which the pipe repeats.
    return [own, ...pipe.filter(isSchema).map(privacyPlan)];
  }
  return [
    own,
    wrapped && privacyPlan(wrapped),
    ...options.map((each) => isSchema(each) ? privacyPlan(each) : undefined),
    ...[schema.item, schema.rest, schema.value].map(itemsPlan),
    entries && fieldsPlan(entries),
  ];
}

function itemsPlan(schema: SchemaNode | undefined): PrivacyPlan | undefined {
  const items = schema && privacyPlan(schema);
  return items && { items };
}

function fieldsPlan(
  entries: SchemaEntries,
): PrivacyPlan | undefined {
  const fields = new Map<string, PrivacyPlan>();
  for (const [name, schema] of Object.entries(entries)) {
    const plan = privacyPlan(schema);
    if (plan !== undefined) fields.set(name, plan);
  }
  return fields.size === 0 ? undefined : { fields };
}

/** Joins alternatives: parts that are private in one of them are private, since a value does not name its alternative. */
function join(
  ...plans: readonly (PrivacyPlan | undefined)[]
): PrivacyPlan | undefined {
  return plans.reduce((a, b) => a && b ? joinTwo(a, b) : a ?? b, undefined);
}

/** Marks in the order of strictness. */
const strictness: readonly Privacy[] = [
  "secret",
  "hidden",
  "privateKey",
  "headerText",
  "headerValue",
  "parameterValue",
  "url",
  "label",
  "content",
  "text",
];

function joinTwo(a: PrivacyPlan, b: PrivacyPlan): PrivacyPlan {
  const privacy = strictness.find((each) =>
    each === a.privacy || each === b.privacy
  );
  const names = new Set([...a.fields?.keys() ?? [], ...b.fields?.keys() ?? []]);
  const fields = new Map<string, PrivacyPlan>();
  for (const name of names) {
    const plan = join(a.fields?.get(name), b.fields?.get(name));
    if (plan !== undefined) fields.set(name, plan);
  }
  const items = join(a.items, b.items);
  return {
    ...(privacy !== undefined && { privacy }),
    ...(fields.size > 0 && { fields }),
    ...(items !== undefined && { items }),
  };
}
