/** Restrictions and budgets of a key or a team. */
import type { ChangedKeyObject, KeyObjectList } from "../../../responses.ts";
import {
  EXPECTED_BUDGET,
  formatBudget,
  parseBudget,
} from "../../../../../src/api/budget_text.ts";
import { useState } from "../../kit/framework.ts";
import { Button, Field, Form } from "../../kit/inputs.tsx";
import { Problem } from "../../kit/layout.tsx";
import { postJson } from "../../server/api.ts";

type AccessObject = KeyObjectList["objects"][number];

const restrictions = [
  { name: "models", label: "Models", example: "gpt-4o*" },
  { name: "tools", label: "MCP tools", example: "read_*" },
  { name: "mcpServers", label: "MCP servers", example: "files" },
  { name: "routes", label: "Routes", example: "default/llm" },
  { name: "addresses", label: "Addresses", example: "10.0.0.0/8" },
] as const;

const ABOUT =
  "Nothing in a field restricts nothing. Names that end with * stand for all that begin so; commas separate several.";

type Restriction = typeof restrictions[number]["name"];

/** Returns the budgets of an object as text: `50usd/month, 100requests/minute`. */
export function budgetsOf({ budgets = [] }: AccessObject): string {
  return budgets.map((each) => formatBudget(each) ?? "other").join(", ");
}

interface AccessFormProps {
  readonly object: AccessObject;
  readonly onChange: (change: () => Promise<ChangedKeyObject>) => void;
  readonly onClose: () => void;
}

/** A form for what a key or a team may use, and how much. Names are separated by commas. */
export function AccessForm({ object, onChange, onClose }: AccessFormProps) {
  const { kind, id } = object;
  const [fields, setFields] = useState(() => fieldsOf(object));
  const [amounts, setAmounts] = useState(() => amountsOf(object));
  const [notifyAt, setNotifyAt] = useState(() => noticesOf(object));
  const [problem, setProblem] = useState("");
  const save = () => {
    const wrong = listOf(amounts).find((each) => !parseBudget(each));
    if (wrong !== undefined) {
      return setProblem(
        `Invalid budget "${wrong}": expected ${EXPECTED_BUDGET}`,
      );
    }
    const path = kind === "team" ? `team/${id}` : id;
    const budgets = readBudgets(object, amounts, notifyAt);
    const allow = allowOf(fields);
    onChange(() =>
      postJson(`access/change/${path}`, { action: "update", allow, budgets })
    );
    onClose();
  };
  return (
    <section class="panel" aria-label={`Edit ${id}`}>
      <h3>
        What {kind} <code>{id}</code> may use
      </h3>
      <p class="quiet">{ABOUT}</p>
      <Form label={`Restrictions and budgets of ${id}`} onSubmit={save}>
        {restrictions.map(({ name, label, example }) => (
          <Field key={name} label={label}>
            <input
              placeholder={example}
              value={fields[name]}
              onInput={({ currentTarget }) =>
                setFields({ ...fields, [name]: currentTarget.value })}
            />
          </Field>
        ))}
        <Field label="Budgets">
          <input
            placeholder="50usd/month"
            value={amounts}
            onInput={({ currentTarget }) => setAmounts(currentTarget.value)}
          />
        </Field>
        <Field label="Notify at, in percent">
          <input
            placeholder="80, 100"
            value={notifyAt}
            onInput={({ currentTarget }) => setNotifyAt(currentTarget.value)}
          />
        </Field>
        <Button isMain>Save</Button>
        <Button onPress={onClose}>Cancel</Button>
      </Form>
      <Problem>{problem}</Problem>
    </section>
  );
}

function fieldsOf(
  { allow }: AccessObject,
): Readonly<Record<Restriction, string>> {
  return {
    models: allow?.models?.join(", ") ?? "",
    tools: allow?.tools?.join(", ") ?? "",
    mcpServers: allow?.mcpServers?.join(", ") ?? "",
    routes: allow?.routes?.join(", ") ?? "",
    addresses: allow?.addresses?.join(", ") ?? "",
  };
}

function amountsOf({ budgets = [] }: AccessObject): string {
  return budgets.flatMap((each) => formatBudget(each) ?? []).join(", ");
}

function noticesOf({ budgets = [] }: AccessObject): string {
  const noticed = budgets.find(({ notifyAt }) => notifyAt !== undefined);
  return noticed?.notifyAt?.join(", ") ?? "";
}

/** Returns the budgets of the form, and those that it cannot show, which stay as they are; `null` for none. */
function readBudgets(
  { budgets = [] }: AccessObject,
  amounts: string,
  notices: string,
) {
  const others = budgets.filter((each) => formatBudget(each) === undefined);
  const notifyAt = listOf(notices).map(Number);
  const shown = listOf(amounts).map((each) => ({
    ...parseBudget(each),
    ...notifyAt.length > 0 && { notifyAt },
  }));
  const all = [...shown, ...others];
  return all.length === 0 ? null : all;
}

function listOf(text: string): readonly string[] {
  return text.split(",").map((each) => each.trim())
    .filter((each) => each !== "");
}

function allowOf(fields: Readonly<Record<Restriction, string>>) {
  const given = restrictions.flatMap(({ name }) => {
    const list = listOf(fields[name]);
    return list.length === 0 ? [] : [[name, list] as const];
  });
  return given.length === 0 ? null : Object.fromEntries(given);
}
