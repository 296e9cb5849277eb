import { planOfPart } from "../../../src/api/schema/privacy.ts";
import {
  type PrivacyPlan,
  privacyPlan,
} from "../../../src/api/schema/privacy.ts";
import type { GenericSchema } from "../../../src/api/schema/schema.ts";

/** Lists the places of a schema whose values are never shown, such as `config.otlp.headers.*`; `*` stands for an item or a name. */
export function secretPlaces(schema: GenericSchema): readonly string[] {
  const places: string[] = [];
  const visit = (plan: PrivacyPlan | undefined, path: readonly string[]) => {
    const isSecret = plan?.privacy === "secret" ||
      plan?.privacy === "privateKey";
    const parts = [
      ...plan?.fields ?? [],
      ...plan?.items === undefined ? [] : [["*", plan.items] as const],
    ];
    for (const [name, part] of parts) visit(part, [...path, name]);
    if (isSecret && parts.length === 0) places.push(path.join("."));
  };
  visit(privacyPlan(schema), []);
  return places;
}

/** Reports whether nothing of the value of a schema is private at a place, such as that of a name beside a secret. */
export function isPlain(schema: GenericSchema, place: string): boolean {
  const plan = place.split(".").reduce<PrivacyPlan | undefined>(
    planOfPart,
    privacyPlan(schema),
  );
  return plan === undefined;
}

/** Returns the ways in which a text shows a secret: as it is, or in the form that some encoding gives it. */
export function formsShown(text: string, secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  const forms = {
    raw: secret,
    JSON: JSON.stringify(secret).slice(1, -1),
    URL: encodeURIComponent(secret),
    hexadecimal: bytes.toHex(),
    "upper-case hexadecimal": bytes.toHex().toUpperCase(),
    ...Object.fromEntries([0, 1, 2].flatMap((offset) => {
      // The first and the last character depend on what is around the secret.
      const padded = new Uint8Array([...new Uint8Array(offset), ...bytes]);
      const start = offset === 0 ? 0 : offset + 1;
      const end = Math.floor(padded.length / 3) * 4;
      const base64 = padded.toBase64().slice(start, end);
      const url = base64.replaceAll("+", "-").replaceAll("/", "_");
      return [[`base64 at ${offset}`, base64], [`base64url at ${offset}`, url]];
    })),
  };
  return Object.entries(forms).filter(([, form]) => text.includes(form))
    .map(([name]) => name);
}
