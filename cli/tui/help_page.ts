import { fit } from "../output/columns.ts";
import type { Size } from "./state/layout.ts";
import { commands } from "./prompt.ts";
import type { Row } from "./style.ts";

const keys: readonly (readonly [keys: string, effect: string])[] = [
  ["j k ↑ ↓", "next and previous line"],
  ["PgUp PgDn ^B ^F", "previous and next page"],
  ["g G Home End", "first and last line"],
  ["enter", "open the request; then its details"],
  ["esc", "back"],
  ["[ ]", "previous and next request"],
  ["tab", "the other pane"],
  ["/ n N", "search both panes; next and previous match"],
  ["e s d", "event, snapshot, changes since the snapshot before"],
  ["f", "YAML or JSON"],
  ["y", "copy the field of the line in the details, else all details"],
  ["w", "save the request, or all requests of the list"],
  ["r", "send the request again, if it was given after --"],
  ["q ^C", "quit"],
];

/** Renders all keys and commands. */
export function helpRows({ columns, rows }: Size): readonly Row[] {
  const lines = [
    ...keys,
    ["", ""],
    ...Object.entries(commands).map(([name, effect]) =>
      [name === "write" ? ":write <file>" : `:${name}`, effect] as const
    ),
    [":<number>", "open the request of this number"],
  ];
  return Array.from({ length: rows }, (_, row): Row => {
    const [key = "", effect = ""] = lines[row] ?? [];
    return [{
      text: fit(` ${key.padEnd(18)}${effect}`, columns),
      style: "plain",
    }];
  });
}
