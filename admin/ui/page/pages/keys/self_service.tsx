/** Fields for the keys that users of a team make at `/self`. */
import type { KeyObjectList } from "../../../responses.ts";
import { Field } from "../../kit/inputs.tsx";
import { amountsOf, readBudgets } from "./budgets.ts";

type Team = KeyObjectList["objects"][number];

/** Longest lifetime of a key where the form has none. */
const LIFETIME = "720h";

/** Fields of the form. */
interface SelfServiceTexts {
  /** Empty where users make no keys. */
  readonly maxKeys: string;
  readonly maxLifetime: string;
  readonly amounts: string;
}

interface SelfServiceFieldsProps {
  readonly fields: SelfServiceTexts;
  readonly onChange: (fields: SelfServiceTexts) => void;
}

/** Fields for the keys that users of a team make. */
export function SelfServiceFields(
  { fields, onChange }: SelfServiceFieldsProps,
) {
  return (
    <>
      <Field label="Keys that each user may make">
        <input
          type="number"
          min={1}
          max={100}
          placeholder="none"
          value={fields.maxKeys}
          onInput={({ currentTarget }) =>
            onChange({ ...fields, maxKeys: currentTarget.value })}
        />
      </Field>
      <Field label="Longest lifetime of those">
        <input
          placeholder={LIFETIME}
          value={fields.maxLifetime}
          onInput={({ currentTarget }) =>
            onChange({ ...fields, maxLifetime: currentTarget.value })}
        />
      </Field>
      <Field label="Budgets of each user">
        <input
          placeholder="20usd/month"
          value={fields.amounts}
          onInput={({ currentTarget }) =>
            onChange({ ...fields, amounts: currentTarget.value })}
        />
      </Field>
    </>
  );
}

/** Returns the texts of the fields. */
export function fieldsOfSelfService({ selfService }: Team): SelfServiceTexts {
  return {
    maxKeys: String(selfService?.maxKeys ?? ""),
    maxLifetime: selfService?.maxLifetime ?? "",
    amounts: amountsOf(selfService?.budgets),
  };
}

/** Returns the field of the team; `null` where users make no keys. */
export function readSelfService(
  { selfService }: Team,
  { maxKeys, maxLifetime, amounts }: SelfServiceTexts,
) {
  if (maxKeys.trim() === "") return null;
  return {
    maxKeys: Number(maxKeys),
    maxLifetime: maxLifetime.trim() || LIFETIME,
    budgets: readBudgets(amounts, selfService?.budgets),
  };
}
