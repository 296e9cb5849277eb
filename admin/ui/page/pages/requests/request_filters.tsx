/** Filters of the log of requests. */
import type { LoggedRequest } from "../../../../../src/telemetry/requests/logged_request.ts";
import {
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "../../kit/framework.ts";
import { Button, Field, Form, Segments } from "../../kit/inputs.tsx";
import {
  noFilter,
  outcomes,
  queryOf,
  type RequestFilter,
} from "./request_view.ts";

const TYPING_MS = 250;
const MAX_SUGGESTIONS = 50;

type NameFilter = "route" | "model" | "key" | "mcpServer" | "mcpTool";

interface RequestFiltersProps {
  readonly filter: RequestFilter;
  /** Their names are suggested. */
  readonly requests: readonly LoggedRequest[];
  readonly onChange: (filter: RequestFilter) => void;
}

/** Outcome, search, route, model, key, and MCP server and tool where there are some; they apply as they are typed. */
export function RequestFilters(
  { filter, requests, onChange }: RequestFiltersProps,
) {
  const [typed, setTyped] = useState(filter);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // A later effect would take back what has been typed since.
  useLayoutEffect(() => setTyped(filter), [queryOf(filter)]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (next: RequestFilter) => {
    clearTimeout(timer.current);
    setTyped(next);
    onChange(next);
  };
  const type = (next: RequestFilter) => {
    clearTimeout(timer.current);
    setTyped(next);
    timer.current = setTimeout(() => onChange(next), TYPING_MS);
  };
  const field = (name: NameFilter, label: string) => (
    <NameField
      label={label}
      value={typed[name]}
      names={requests.map((request) => request[name])}
      onInput={(value) => type({ ...typed, [name]: value })}
    />
  );
  const hasMcp = typed.mcpServer !== "" || typed.mcpTool !== "" ||
    requests.some(({ mcpServer }) => mcpServer !== null);
  return (
    <Form onSubmit={() => apply(typed)} label="Filter">
      <Segments
        label="Outcome"
        options={outcomes}
        value={typed.status}
        onChange={(status) => apply({ ...typed, status })}
      />
      <Field label="Search" isWide>
        <input
          type="search"
          value={typed.text}
          placeholder="Path, host, reason, x-request-id…"
          spellcheck={false}
          onInput={({ currentTarget }) =>
            type({ ...typed, text: currentTarget.value })}
        />
      </Field>
      {field("route", "Route")}
      {field("model", "Model")}
      {field("key", "Key")}
      {hasMcp && field("mcpServer", "MCP server")}
      {hasMcp && field("mcpTool", "MCP tool")}
      <Button
        isDisabled={queryOf(typed) === ""}
        onPress={() => apply(noFilter)}
      >
        Clear
      </Button>
    </Form>
  );
}

interface NameFieldProps {
  readonly label: string;
  readonly value: string;
  readonly names: readonly (string | null)[];
  readonly onInput: (value: string) => void;
}

function NameField({ label, value, names, onInput }: NameFieldProps) {
  const id = useId();
  const known = new Set(names);
  const suggestions = [...known].filter((name) => name !== null)
    .slice(0, MAX_SUGGESTIONS).sort();
  return (
    <Field label={label}>
      <input
        class="short-input"
        type="search"
        list={id}
        value={value}
        placeholder="Any"
        spellcheck={false}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <datalist id={id}>
        {suggestions.map((name) => <option key={name} value={name} />)}
      </datalist>
    </Field>
  );
}
