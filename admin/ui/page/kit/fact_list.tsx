/** Shows a value of the configuration as facts: its fields by their paths, without punctuation. */
import { Fact, Facts } from "./data.tsx";

/** Facts of one value; a form of more is easier to read as JSON. */
const MAX_FACTS = 100;

/** A field that has a value, with its path: `rateLimit › local › requests`. */
type Field = readonly [path: string, text: string];

/** The facts of a value, in columns. */
export function FactList({ value }: { readonly value: unknown }) {
  const fields = fieldsOf(value);
  return (
    <>
      <Facts>
        {fields.slice(0, MAX_FACTS).map(([path, text], index) => (
          <Fact key={index} name={path}>{text}</Fact>
        ))}
      </Facts>
      <More count={fields.length - MAX_FACTS} />
    </>
  );
}

/** The facts of a value, one per line, for a cell of a table. */
export function FactLines({ value }: { readonly value: unknown }) {
  const fields = fieldsOf(value);
  if (fields.length === 0) return <>–</>;
  return (
    <>
      {fields.slice(0, MAX_FACTS).map(([path, text], index) => (
        <div key={index}>
          {path !== "" && <span class="quiet">{path}</span>} {text}
        </div>
      ))}
      <More count={fields.length - MAX_FACTS} />
    </>
  );
}

function More({ count }: { readonly count: number }) {
  return count > 0
    ? <p class="quiet">{`${count} more facts are in the JSON.`}</p>
    : null;
}

/** Lists the fields that have a value; items of lists that are no mappings are one field. */
function fieldsOf(value: unknown, path: readonly string[] = []): Field[] {
  if (value === undefined || value === null || value === "") return [];
  const name = path.join(" › ");
  if (typeof value !== "object") return [[name, String(value)]];
  if (!Array.isArray(value)) {
    return Object.entries(value).flatMap(([field, part]) =>
      fieldsOf(part, [...path, field])
    );
  }
  if (value.length === 0) return [];
  if (value.every((item) => typeof item !== "object")) {
    return [[name, value.join(", ")]];
  }
  return value.flatMap((item, index) =>
    fieldsOf(item, value.length === 1 ? path : numbered(path, index))
  );
}

function numbered(path: readonly string[], index: number): readonly string[] {
  return [...path.slice(0, -1), `${path.at(-1) ?? ""} ${index + 1}`.trim()];
}
