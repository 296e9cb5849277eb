/**
 * The only file that imports valibot, and that depends on what valibot does not document: `~run`, `_addIssue`, and the format of
 * issues. `tests/unit/api/schema/valibot_schema_test.ts` is the contract that an update of valibot has to keep.
 */
import * as v from "valibot";

export * from "valibot";

/** An error found by valibot. */
export type Issue = v.BaseIssue<unknown>;

/**
 * Returns a schema for a mapping with exactly these fields. Unlike `strictObject`, it rejects lists, reports every unknown field,
 * and lists the known ones in `expected`.
 */
export function strictMapping<const E extends v.ObjectEntries>(
  entries: E,
): v.StrictObjectSchema<E, undefined> {
  const known = Object.keys(entries);
  const fields = v.object(entries);
  return {
    ...v.strictObject(entries),
    "~run"(dataset, config) {
      const input = dataset.value;
      if (typeof input !== "object" || input === null || Array.isArray(input)) {
        v._addIssue(this, "type", dataset, config);
        return {
          typed: false,
          value: input,
          issues: dataset.issues ?? [],
        } as never;
      }
      const result = fields["~run"](dataset, config);
      for (const [key, value] of Object.entries(input)) {
        if (Object.hasOwn(entries, key)) continue;
        v._addIssue(this, "key", result, config, {
          input: key,
          expected: known.map((name) => JSON.stringify(name)).join(" | "),
          path: [{
            type: "object",
            origin: "key",
            input: { ...input },
            key,
            value,
          }],
        });
      }
      return result as never;
    },
  };
}

/** Reports whether the schema states the message itself; otherwise valibot wrote it. */
export function hasOwnMessage({ kind, message }: Issue): boolean {
  return kind === "validation" || !message.startsWith("Invalid ");
}

/** Reports whether the issue is about a field as a whole: unknown, or required and missing. */
export function isAboutField({ type, path }: Issue): boolean {
  return path?.at(-1)?.origin === "key" && type !== "string";
}

/** Returns the names in valibot's description of the expected value: `("HTTP" | "HTTPS")`. */
export function choicesOf({ type, expected }: Issue): readonly string[] {
  if (!["strict_object", "picklist", "literal", "variant"].includes(type)) {
    return [];
  }
  return (expected ?? "").replace(/^\(|\)$/g, "").split(" | ")
    .map((choice) => choice.replaceAll('"', ""))
    .filter((choice) => choice !== "" && choice !== "Object");
}

const expectedTypes = new Map([
  ["string", "a string"],
  ["number", "a number"],
  ["boolean", "true or false"],
  ["array", "a list"],
  ["record", "a mapping"],
  ["strict_object", "a mapping"],
  ["object_with_rest", "a mapping"],
]);

/** Returns the expected type in words: `a list`. */
export function expectedTypeOf({ type, expected }: Issue): string {
  return expectedTypes.get(type) ?? expected ?? "something else";
}
