/** The controls that select a route and what is sent along with each request. */
import type { ComponentChildren } from "../../kit/framework.ts";
import { useId, useLayoutEffect, useState } from "../../kit/framework.ts";
import { Choice, Field, Form } from "../../kit/inputs.tsx";
import type { Target } from "./relay.ts";
import type { NamedTarget } from "./targets.ts";

/** The route that is selected. */
export interface TargetState {
  readonly targets: readonly NamedTarget[];
  readonly target: Target;
  readonly headers: Readonly<Record<string, string>>;
  readonly headerText: string;
  readonly setUrl: (url: string) => void;
  readonly setPort: (port: number) => void;
  readonly setHeaderText: (text: string) => void;
}

/** Remembers the selected route; at first, the first one. */
export function useTarget(targets: readonly NamedTarget[]): TargetState {
  const [target, setTarget] = useState<Target>({ port: 0, url: "" });
  const [headerText, setHeaderText] = useState("");
  const [first] = targets;
  useLayoutEffect(() => {
    if (first === undefined) return;
    // Somebody may have written a URL before the routes arrived.
    setTarget(({ port, url }) => ({
      port: port || first.port,
      url: url || first.url,
    }));
  }, [first?.port, first?.url]);
  const select = (url: string) => {
    const known = targets.find((each) => each.url === url);
    setTarget(({ port }) => ({ port: known?.port ?? port, url }));
  };
  return {
    targets,
    target,
    headers: readHeaders(headerText),
    headerText,
    setUrl: select,
    setPort: (port) => setTarget(({ url }) => ({ port, url })),
    setHeaderText,
  };
}

/** Routes to choose from at once: a list of thousands would take long to draw. */
const MAX_OPTIONS = 100;

interface TargetFormProps {
  readonly label: string;
  readonly state: TargetState;
  /** Ports of all listeners. */
  readonly ports: readonly number[];
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
  /** Further controls that are rarely needed. */
  readonly more?: ComponentChildren;
}

/** A form with route, URL and headers; its children are the buttons. */
export function TargetForm(
  { label, state, ports, onSubmit, children, more }: TargetFormProps,
) {
  const { targets, target } = state;
  return (
    <Form onSubmit={onSubmit} label={label}>
      {targets.length > 1 && (
        targets.length > MAX_OPTIONS ? <RouteSearch state={state} /> : (
          <Choice
            label="Route"
            value={target.url}
            options={targets.map(({ name, url }) => ({
              title: name,
              value: url,
            }))}
            onChange={state.setUrl}
          />
        )
      )}
      <Field label="URL" isWide>
        <input
          type="url"
          class="mono"
          required
          value={target.url}
          spellcheck={false}
          onInput={({ currentTarget }) => state.setUrl(currentTarget.value)}
        />
      </Field>
      {children}
      <details class="more">
        <summary>Listener, headers{more && " and client"}</summary>
        <div class="row">
          <Choice
            label="Listener"
            value={String(target.port)}
            options={ports.map((port) => ({
              title: `port ${port}`,
              value: String(port),
            }))}
            onChange={(port) => state.setPort(Number(port))}
          />
          <Field label="Headers, one per line" isWide>
            <textarea
              rows={2}
              value={state.headerText}
              spellcheck={false}
              placeholder="x-api-key: …"
              onInput={({ currentTarget }) =>
                state.setHeaderText(currentTarget.value)}
            />
          </Field>
          {more}
        </div>
      </details>
    </Form>
  );
}

/** Selects one of thousands of routes by its name, of which the first ones that contain the text are offered. */
function RouteSearch(
  { state: { targets, target, setUrl } }: { readonly state: TargetState },
) {
  const id = useId();
  const [text, setText] = useState<string | undefined>(undefined);
  const shown = text ?? targets.find(({ url }) => url === target.url)?.name ??
    "";
  const offered = targets.filter(({ name }) => name.includes(shown))
    .slice(0, MAX_OPTIONS);
  const choose = (next: string) => {
    setText(next);
    const chosen = targets.find(({ name }) => name === next);
    if (chosen !== undefined) setUrl(chosen.url);
  };
  return (
    <Field label="Route">
      <input
        type="search"
        list={id}
        value={shown}
        spellcheck={false}
        onInput={({ currentTarget }) => choose(currentTarget.value)}
      />
      <datalist id={id}>
        {offered.map(({ name, url }) => <option key={url} value={name} />)}
      </datalist>
    </Field>
  );
}

/** Reads headers, one per line. */
export function readHeaders(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split("\n").map((line) => line.split(/:(.*)/s)).filter((parts) =>
      parts.length > 1
    ).map(([name = "", value = ""]) => [name.trim(), value.trim()]),
  );
}
