import type { JsonObject } from "../../base/json.ts";
import { addToList, EditError, readYamlMap } from "./add_to_list.ts";
import { additions, type FormField, type FormValues } from "./additions.ts";

/** A form that adds something to a file in the short form. */
export interface EditForm {
  /** Such as `provider`. */
  readonly id: string;
  readonly title: string;
  /** The item that it adds, as a sentence. */
  readonly about: string;
  readonly fields: readonly FormField[];
}

/** Returns the forms for a file, with its routes to choose from. @throws {EditError} When it is not in the short form. */
export function formsFor(source: string): readonly EditForm[] {
  const file = readShortForm(source);
  return Object.entries(additions).map(([id, { title, about, fields }]) => ({
    id,
    title,
    about,
    fields: fields(file),
  }));
}

/**
 * Returns the file with what a form adds; all other lines stay as they are.
 * @throws {EditError} When the form, a value or the file does not allow it.
 */
export function fillForm(
  source: string,
  id: string,
  values: FormValues,
): string {
  const addition = Object.hasOwn(additions, id) ? additions[id] : undefined;
  if (addition === undefined) throw new EditError(`there is no form "${id}"`);
  const file = readShortForm(source);
  const fields = addition.fields(file);
  const given = Object.fromEntries(
    fields.map((field) => [field.name, valueFor(field, values)]),
  );
  const { path, item } = addition.edit(given, file);
  return addToList(source, path, item);
}

/** Returns what was entered, or the value at first. @throws {EditError} */
function valueFor(
  { name, label, isRequired = false, value, options }: FormField,
  values: FormValues,
): string {
  const given = (Object.hasOwn(values, name) ? values[name] : undefined)
    ?.trim() ?? value ?? options?.[0]?.value ?? "";
  if (options !== undefined && !options.some((each) => each.value === given)) {
    throw new EditError(
      options.length === 0
        ? `${label}: the file has none`
        : `${label}: ${JSON.stringify(given)} is none of the options`,
    );
  }
  if (isRequired && given === "") throw new EditError(`${label}: is missing`);
  return given;
}

function readShortForm(source: string): JsonObject {
  const file = readYamlMap(source);
  if (!("kind" in file)) return file;
  throw new EditError(
    "forms add to files in the short form, and this one has resources of Kubernetes",
  );
}
