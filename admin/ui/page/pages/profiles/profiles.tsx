/** Takes a profile and shows it as a flame graph and a table. */
import type { UiResponses } from "../../../responses.ts";
import type { PageProps } from "../../navigation/page.ts";
import { bytes, number } from "../../kit/format.ts";
import { useEffect, useMemo, useRef, useState } from "../../kit/framework.ts";
import { Button, Field, Form } from "../../kit/inputs.tsx";
import {
  Empty,
  Message,
  PageHead,
  Problem,
  Section,
} from "../../kit/layout.tsx";
import { Table } from "../../kit/table.tsx";
import { getSlowJson, messageOf } from "../../server/api.ts";
import { FlameGraph } from "./flame_graph.tsx";
import { buildTree, hottest } from "./flame_tree.ts";

type Profile = UiResponses["profiles/*"];

const MAX_FUNCTIONS = 30;

/** The page of profiles. */
export function Profiles({ status }: PageProps) {
  const [seconds, setSeconds] = useState("10");
  const { profile, message, problem, isBusy, take } = useProfile();
  const takeCpu = () => {
    const query = new URLSearchParams({ seconds });
    take(`profiles/cpu?${query}`, `Sampling for ${seconds} s…`);
  };
  return (
    <>
      <PageHead
        title="Profiles"
        about="Where the processor time and the memory of this process go, by function."
      />
      <Form label="Take a profile" onSubmit={takeCpu}>
        {status.profiles.includes("cpu") && (
          <>
            <Field label="Seconds">
              <input
                type="number"
                min={1}
                max={300}
                required
                value={seconds}
                onInput={({ currentTarget }) => setSeconds(currentTarget.value)}
              />
            </Field>
            <Button isMain isDisabled={isBusy}>CPU profile</Button>
          </>
        )}
        <Button
          isDisabled={isBusy}
          onPress={() => take("profiles/heap", "Taking a heap profile…")}
        >
          Heap profile
        </Button>
      </Form>
      <Message>{message}</Message>
      <Problem>{problem}</Problem>
      {profile
        ? <Result profile={profile} />
        : (
          <Empty title="No profile yet" isPanel>
            A CPU profile samples the running functions, also under load. A heap
            profile has the allocations that are still alive. <code>gwctl</code>
            {" "}
            saves both for <code>go tool pprof</code>.
          </Empty>
        )}
    </>
  );
}

function useProfile() {
  const [profile, setProfile] = useState<Profile | undefined>(undefined);
  const [message, setMessage] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const run = async (path: `profiles/${string}`) => {
    try {
      const taken = await getSlowJson(path, leaving.current.signal);
      setProfile(taken);
      setMessage(`Done: ${taken.samples.length} stacks.`);
    } catch (error) {
      if (leaving.current.signal.aborted) return;
      setMessage("");
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  const take = (path: `profiles/${string}`, waiting: string) => {
    setBusy(true);
    setProblem("");
    setMessage(waiting);
    setProfile(undefined);
    void run(path);
  };
  return { profile, message, problem, isBusy, take };
}

function Result({ profile: { unit, samples } }: { readonly profile: Profile }) {
  const tree = useMemo(() => buildTree(samples), [samples]);
  const rows = useMemo(() => hottest(samples).slice(0, MAX_FUNCTIONS), [
    samples,
  ]);
  const format = formats[unit] ??
    ((value: number) => `${number(value)} ${unit}`);
  if (tree.total === 0) return <p>The profile is empty.</p>;
  const amount = (value: number) =>
    `${format(value)} (${number((value / tree.total) * 100)} %)`;
  return (
    <>
      <section class="panel">
        <FlameGraph root={tree} format={format} />
      </section>
      <Section title="Hottest functions" isFlush>
        <Table
          label="Functions by their own amount"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            ["Function", ({ name }) => name, "wide"],
            ["Self", ({ own }) => amount(own), "number"],
            ["Total", ({ total }) => amount(total), "number"],
          ]}
        />
      </Section>
    </>
  );
}

const formats: Readonly<Record<string, (value: number) => string>> = {
  nanoseconds: (value) => `${number(value / 1e6)} ms`,
  bytes,
};
