/** Log levels, default and per module. */
import type { PageProps } from "../../navigation/page.ts";
import { useEffect, useState } from "../../kit/framework.ts";
import { Button, Choice, Field, Form } from "../../kit/inputs.tsx";
import { Message, PageHead, Problem, Section } from "../../kit/layout.tsx";
import { Table } from "../../kit/table.tsx";
import { getText, messageOf, post } from "../../server/api.ts";

const levels = ["off", "error", "warn", "info", "debug", "trace"] as const;
type Level = typeof levels[number];

/** The page of log levels. */
export function Logging({ status }: PageProps) {
  const [filter, setFilter] = useState("");
  const [message, setMessage] = useState("");
  const [problem, setProblem] = useState("");
  const update = (text: string) =>
    setFilter(text.replace(/^current log level is /, ""));
  useEffect(() => {
    const leaving = new AbortController();
    getText("logging", leaving.signal).then(update, (error: unknown) => {
      if (!leaving.signal.aborted) setProblem(messageOf(error));
    });
    return () => leaving.abort();
  }, []);
  const change = async (query: string) => {
    try {
      update(await post(`logging?${query}`));
      setMessage("Log level changed until the gateway restarts.");
      setProblem("");
    } catch (error) {
      setMessage("");
      setProblem(messageOf(error));
    }
  };
  return (
    <>
      <PageHead
        title="Logging"
        about="Levels in force. The configuration has those of the next start."
      />
      <div class="grid-2">
        <Section title="Active levels" isFlush>
          {filter !== "" && <Levels filter={filter} />}
        </Section>
        <Section title="Change a level">
          {status.readOnly
            ? <p class="quiet">Read-only: this page cannot change it.</p>
            : <Change onChange={(query) => void change(query)} />}
          <Message>{message}</Message>
          <Problem>{problem}</Problem>
        </Section>
      </div>
    </>
  );
}

function Levels({ filter }: { readonly filter: string }) {
  const rows = filter.split(",").map((part) => {
    const [module = "", level] = part.split("=");
    return level === undefined
      ? { module: "(default)", level: module }
      : { module, level };
  });
  return (
    <Table
      label="Active log levels"
      rows={rows}
      keyOf={({ module }) => module}
      columns={[
        ["Module", ({ module }) => module],
        ["Level", ({ level }) => level],
      ]}
    />
  );
}

function Change({ onChange }: { readonly onChange: (query: string) => void }) {
  const [level, setLevel] = useState<Level>("info");
  const [module, setModule] = useState("");
  const directive = module === "" ? level : `${module}=${level}`;
  return (
    <>
      <Form
        label="Change a level"
        onSubmit={() => onChange(`level=${encodeURIComponent(directive)}`)}
      >
        <Choice<Level>
          label="Level"
          value={level}
          onChange={setLevel}
          options={levels.map((value) => ({ value, title: value }))}
        />
        <Field label="Module">
          <input
            name="module"
            pattern="[a-z][a-z0-9_]*"
            placeholder="all"
            value={module}
            onInput={({ currentTarget }) => setModule(currentTarget.value)}
          />
        </Field>
        <Button isMain>Set</Button>
        <Button onPress={() => onChange("reset")}>
          Reset to configuration
        </Button>
      </Form>
      <p class="quiet">
        For example proxy, policy or identity; empty for the default level.
      </p>
    </>
  );
}
