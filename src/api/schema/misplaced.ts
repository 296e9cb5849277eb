import { trafficSchema } from "../resources/gateway_policy.ts";
import { httpMatchSchema } from "../resources/http_match.ts";
import { settingsSchema } from "../settings.ts";

/** A field that holds others, and one that stands beside it: together they tell what the mapping is. */
interface Holder {
  readonly name: string;
  readonly beside: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const holders: readonly Holder[] = [
  { name: "config", beside: "routes", fields: settingsSchema.entries },
  { name: "policies", beside: "hostnames", fields: trafficSchema.entries },
  { name: "traffic", beside: "targetRefs", fields: trafficSchema.entries },
];

/** The remedy for a field that stands beside the one that would hold it. @param known Fields that may stand there. */
export function hintForMisplaced(
  key: string,
  known: readonly string[],
): string | undefined {
  if (
    known.includes("matches") && Object.hasOwn(httpMatchSchema.entries, key)
  ) {
    return `write matches: [{ ${key}: … }]`;
  }
  const holder = holders.find(({ name, beside, fields }) =>
    known.includes(name) && known.includes(beside) && Object.hasOwn(fields, key)
  );
  return holder && `move it into "${holder.name}"`;
}
