/** Forms that add something to the file: they change the draft, which shows the lines before they are applied. */
import type { EditForm } from "../../../../../src/config/edit/forms.ts";
import type { FormField } from "../../../../../src/config/edit/additions.ts";
import { useMemo, useState } from "../../kit/framework.ts";
import { Button, Choice, Field, Form } from "../../kit/inputs.tsx";
import { Problem } from "../../kit/layout.tsx";
import { messageOf } from "../../server/api.ts";
import { useLoaded } from "../../server/poll.ts";

interface AdditionsProps {
  readonly text: string;
  /** The form that is open at first. */
  readonly first: string;
  readonly onChange: (text: string) => void;
}

/** Buttons for the forms, and the one that is open. */
export function Additions({ text, first, onChange }: AdditionsProps) {
  const [open, setOpen] = useState(first);
  const { data: edit } = useLoaded("forms", loadForms);
  // A long file takes long to read: only an open form does.
  const read = open === "" ? "" : text;
  const { forms, problem } = useMemo(
    () => edit === undefined ? { forms: [], problem: "" } : formsOf(edit, read),
    [edit, read],
  );
  if (edit === undefined) return null;
  const form = forms.find(({ id }) => id === open);
  return (
    <section class="panel stack" aria-label="Add">
      <div class="row" role="group" aria-label="Add">
        <span>Add</span>
        {forms.map(({ id, title }) => (
          <Button
            key={id}
            isPressed={id === open}
            onPress={() => setOpen(id === open ? "" : id)}
          >
            {title}
          </Button>
        ))}
      </div>
      <Problem>{problem}</Problem>
      {form && (
        <Addition
          key={form.id}
          form={form}
          onSubmit={(values) => {
            onChange(edit.fillForm(text, form.id, values));
            setOpen("");
          }}
        />
      )}
    </section>
  );
}

type Edit = typeof import("../../../../../src/config/edit/forms.ts");

function loadForms(): Promise<Edit> {
  return import("../../../../../src/config/edit/forms.ts");
}

/** Returns the forms; for a file that they cannot change, those of an empty one, and why. */
function formsOf(
  { formsFor }: Edit,
  text: string,
): { readonly forms: readonly EditForm[]; readonly problem: string } {
  try {
    return { forms: formsFor(text), problem: "" };
  } catch (error) {
    return { forms: formsFor(""), problem: messageOf(error) };
  }
}

type Values = Readonly<Record<string, string>>;

interface AdditionProps {
  readonly form: EditForm;
  /** @throws {Error} When the file cannot be changed so. */
  readonly onSubmit: (values: Values) => void;
}

function Addition({ form, onSubmit }: AdditionProps) {
  const [values, setValues] = useState<Values>({});
  const [problem, setProblem] = useState("");
  const submit = () => {
    try {
      onSubmit(values);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <>
      <p class="quiet">{form.about}</p>
      <Form label={form.title} onSubmit={submit}>
        {form.fields.map((field) => (
          <Input
            key={field.name}
            field={field}
            value={values[field.name] ?? firstValueOf(field)}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        <Button isMain>Show the lines</Button>
      </Form>
      <Problem>{problem}</Problem>
    </>
  );
}

function firstValueOf({ value, options }: FormField): string {
  return value ?? options?.[0]?.value ?? "";
}

interface InputProps {
  readonly field: FormField;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Input({ field, value, onChange }: InputProps) {
  const { label, options, example, isRequired } = field;
  if (options !== undefined) {
    return (
      <Choice
        label={label}
        options={options}
        value={value}
        onChange={onChange}
      />
    );
  }
  return (
    <Field label={label} isWide>
      <input
        name={field.name}
        required={isRequired}
        placeholder={example}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Field>
  );
}
