import { trafficSchema } from "../resources/gateway_policy.ts";
import { httpMatchSchema } from "../resources/http_match.ts";
import { settingsSchema } from "../settings.ts";

/** A field with nested fields, and a sibling: together they identify the mapping. */
interface Parent {
  readonly name: string;
  readonly sibling: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const parents: readonly Parent[] = [
  { name: "config", sibling: "routes", fields: settingsSchema.entries },
  { name: "policies", sibling: "hostnames", fields: trafficSchema.entries },
  { name: "traffic", sibling: "targetRefs", fields: trafficSchema.entries },
];

/** Suggests a fix for a field that is written beside its parent. @param known Valid fields at that place. */
export function hintForMisplaced(
  key: string,
  known: readonly string[],
): string | undefined {
  if (
    known.includes("matches") && Object.hasOwn(httpMatchSchema.entries, key)
  ) {
    return `write matches: [{ ${key}: … }]`;
  }
  const parent = parents.find(({ name, sibling, fields }) =>
    known.includes(name) && known.includes(sibling) &&
    Object.hasOwn(fields, key)
  );
  return parent && `move it into "${parent.name}"`;
}
