/** A form for the arguments of a tool, made of its JSON Schema. */
import { useState } from "../../kit/framework.ts";
import { Button, Field } from "../../kit/inputs.tsx";
import { Problem } from "../../kit/layout.tsx";
import type { JsonSchema, Tool } from "./mcp_client.ts";

interface ToolFormProps {
  readonly tool: Tool;
  readonly isBusy: boolean;
  readonly onCall: (given: Readonly<Record<string, unknown>>) => void;
}

/** A field for each argument; what is left empty is not sent. */
export function ToolForm({ tool, isBusy, onCall }: ToolFormProps) {
  const { properties = {}, required = [] } = tool.inputSchema ?? {};
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    initial(properties)
  );
  const [problem, setProblem] = useState("");
  const submit = () => {
    try {
      setProblem("");
      onCall(readArguments(properties, values));
    } catch (error) {
      setProblem(error instanceof SyntaxError ? error.message : String(error));
    }
  };
  return (
    <form
      class="stack"
      aria-label={`Arguments of ${tool.name}`}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {Object.entries(properties).map(([name, schema]) => (
        <Field
          key={name}
          label={schema.description ? `${name}: ${schema.description}` : name}
        >
          <Input
            schema={schema}
            isRequired={required.includes(name)}
            value={values[name] ?? ""}
            onInput={(value) => setValues({ ...values, [name]: value })}
          />
        </Field>
      ))}
      <Problem>{problem}</Problem>
      <div class="row">
        <Button isMain isDisabled={isBusy}>
          {isBusy ? "Calling…" : `Call ${tool.name}`}
        </Button>
      </div>
    </form>
  );
}

interface InputProps {
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function Input({ schema, isRequired, value, onInput }: InputProps) {
  const choices = schema.enum ??
    (schema.type === "boolean" ? [true, false] : undefined);
  if (choices !== undefined) {
    return (
      <select
        value={value}
        required={isRequired}
        onChange={({ currentTarget }) => onInput(currentTarget.value)}
      >
        <option value="" />
        {choices.map((choice) => (
          <option key={String(choice)} value={String(choice)}>
            {String(choice)}
          </option>
        ))}
      </select>
    );
  }
  const common = {
    value,
    required: isRequired,
    spellcheck: false,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) =>
      onInput(currentTarget.value),
  };
  switch (schema.type) {
    case "string":
      return <input {...common} />;
    case "number":
    case "integer":
      return <input type="number" step="any" {...common} />;
    default:
      return <textarea rows={3} placeholder="JSON" {...common} />;
  }
}

function initial(properties: Readonly<Record<string, JsonSchema>>) {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) =>
      schema.default === undefined ? [] : [[
        name,
        typeof schema.default === "string"
          ? schema.default
          : JSON.stringify(schema.default),
      ]]
    ),
  );
}

/** Converts what was typed. @throws {SyntaxError} For an argument that is no JSON. */
function readArguments(
  properties: Readonly<Record<string, JsonSchema>>,
  values: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, { type }]) => {
      const value = values[name] ?? "";
      if (value === "") return [];
      return [[name, type === "string" ? value : parse(name, value)]];
    }),
  );
}

function parse(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SyntaxError(`${name}: expected JSON`);
  }
}
