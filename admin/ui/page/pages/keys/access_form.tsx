/** Restrictions and budgets of a key or a team. */
import type { KeyObjectList } from "../../../responses.ts";
import { useState } from "../../kit/framework.ts";
import { Button, Field, Form } from "../../kit/inputs.tsx";
import { Problem } from "../../kit/layout.tsx";
import { postJson } from "../../server/api.ts";
import { amountsOf, findWrong, listOf, readBudgets } from "./budgets.ts";
import type { OnChange } from "./key_forms.tsx";
import {
  fieldsOfSelfService,
  readSelfService,
  SelfServiceFields,
} from "./self_service.tsx";

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

interface AccessFormProps {
  readonly object: AccessObject;
  readonly onChange: OnChange;
  readonly onClose: () => void;
}

/** A form for what a key or a team may use, and how much. Names are separated by commas. */
export function AccessForm({ object, onChange, onClose }: AccessFormProps) {
  const { kind, id } = object;
  const [fields, setFields] = useState(() => fieldsOf(object));
  const [amounts, setAmounts] = useState(() => amountsOf(object.budgets));
  const [notifyAt, setNotifyAt] = useState(() => noticesOf(object));
  const [own, setOwn] = useState(() => fieldsOfSelfService(object));
  const [problem, setProblem] = useState("");
  const save = () => {
    const wrong = findWrong(amounts) ?? findWrong(own.amounts);
    if (wrong !== undefined) return setProblem(wrong);
    setProblem("");
    const isTeam = kind === "team";
    const notices = listOf(notifyAt).map(Number);
    const change = {
      action: "update",
      allow: allowOf(fields),
      budgets: readBudgets(amounts, object.budgets, notices) ?? null,
      ...isTeam && { selfService: readSelfService(object, own) },
    };
    const path = isTeam ? `team/${id}` : id;
    onChange(() => postJson(`access/change/${path}`, change), onClose);
  };
  return (
    <section class="panel" aria-label={`Edit ${id}`}>
      <h3>
        What {kind} <code>{id}</code> may use
      </h3>
      <p class="quiet">{ABOUT}</p>
      <Form label={`Restrictions and budgets of ${id}`} onSubmit={save}>
        <RestrictionFields fields={fields} onChange={setFields} />
        <TextField
          label="Budgets"
          example="50usd/month"
          value={amounts}
          onChange={setAmounts}
        />
        <TextField
          label="Notify at, in percent"
          example="80, 100"
          value={notifyAt}
          onChange={setNotifyAt}
        />
        {kind === "team" && (
          <SelfServiceFields
            fields={own}
            onChange={setOwn}
          />
        )}
        <Button isMain>Save</Button>
        <Button onPress={onClose}>Cancel</Button>
      </Form>
      <Problem>{problem}</Problem>
    </section>
  );
}

interface RestrictionFieldsProps {
  readonly fields: Readonly<Record<Restriction, string>>;
  readonly onChange: (fields: Readonly<Record<Restriction, string>>) => void;
}

function RestrictionFields({ fields, onChange }: RestrictionFieldsProps) {
  return (
    <>
      {restrictions.map(({ name, label, example }) => (
        <TextField
          key={name}
          label={label}
          example={example}
          value={fields[name]}
          onChange={(value) => onChange({ ...fields, [name]: value })}
        />
      ))}
    </>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly example: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function TextField({ label, example, value, onChange }: TextFieldProps) {
  return (
    <Field label={label}>
      <input
        placeholder={example}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Field>
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

function noticesOf({ budgets = [] }: AccessObject): string {
  const noticed = budgets.find(({ notifyAt }) => notifyAt !== undefined);
  return noticed?.notifyAt?.join(", ") ?? "";
}

function allowOf(fields: Readonly<Record<Restriction, string>>) {
  const given = restrictions.flatMap(({ name }) => {
    const list = listOf(fields[name]);
    return list.length === 0 ? [] : [[name, list] as const];
  });
  return given.length === 0 ? null : Object.fromEntries(given);
}
