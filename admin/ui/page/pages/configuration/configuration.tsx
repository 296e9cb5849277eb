/** The source of the configuration: diagnostics as typed, changes against what is in force, download and apply. */
import type { UiResponses } from "../../../responses.ts";
import type { PageProps } from "../../navigation/page.ts";
import { download } from "../../kit/download.ts";
import type { RunningEditor } from "../../kit/code_mirror.ts";
import { Editor } from "../../kit/editor.tsx";
import {
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../../kit/framework.ts";
import { Button, Choice } from "../../kit/inputs.tsx";
import {
  Badge,
  Empty,
  Loading,
  Message,
  PageHead,
  Problem,
  Section,
} from "../../kit/layout.tsx";
import { getSlowJson } from "../../server/api.ts";
import { useLoaded } from "../../server/poll.ts";
import { type DraftText, useApply, useCheck } from "./draft.ts";
import { Diagnostics } from "./diagnostics.tsx";
import { Additions } from "./additions.tsx";
import { ChangesOfDraft } from "./changes.tsx";
import { History } from "./history.tsx";
import { useLanguage } from "./language.ts";
import { Trial, useTrial } from "./trial.tsx";

type Source = UiResponses["source"];
type DraftResult = UiResponses["source/check"];

/** The page of the configuration. */
export function Configuration({ argument, status }: PageProps) {
  // Thousands of routes take seconds to read.
  const { data: source, problem } = useLoaded(
    status.hash,
    (signal) => getSlowJson("source", signal),
  );
  const [name, setName] = useState<string | undefined>(undefined);
  const file = source?.files.find((each) => each.name === name) ??
    source?.files[0];
  return (
    <>
      <PageHead
        title="Configuration"
        about="The source of the configuration in force. Secrets are <redacted>; they stay as they are."
        actions={source && source.files.length > 1 && (
          <Choice
            label="File"
            value={file?.name ?? ""}
            options={source.files.map((each) => ({
              value: each.name,
              title: each.name,
            }))}
            onChange={setName}
          />
        )}
      />
      <Problem>{problem}</Problem>
      {!source && problem === "" && <Loading />}
      {source && file && (
        <Draft
          key={file.name}
          source={source}
          file={file}
          canCheck={status.server === "admin"}
          form={argument}
        />
      )}
      {source && file && status.server === "admin" && (
        <History hash={source.hash} canApply={source.isWritable} />
      )}
      {source && !file && (
        <Empty title="There is no file to show" isPanel>
          This gateway reads its resources from a cluster. <code>kubectl</code>
          {" "}
          shows them; the topology has what they become.
        </Empty>
      )}
    </>
  );
}

interface DraftProps {
  readonly source: Source;
  readonly file: Source["files"][number];
  /** The server checks drafts. */
  readonly canCheck: boolean;
  /** Name of the form that is open at first; empty for none. */
  readonly form: string;
}

function Draft({ source, file, canCheck, form }: DraftProps) {
  const editor = useRef<RunningEditor>(null);
  const language = useLanguage();
  const { text, setText, show, isCompared, setCompared } = useText(
    source,
    file,
  );
  const draft = { hash: source.hash, name: file.name, text };
  const { result, isChecking, setResult } = useCheck(draft, canCheck);
  const { message, apply } = useApply(draft, setResult);
  const trial = useTrial(draft);
  const isChanged = text !== file.text;
  const errors = countErrors(result);
  const isValid = errors === 0 && result.problem === undefined && !isChecking;
  const showsChanges = isCompared && isChanged && canCheck && isValid;
  const problems = useProblems(result, file.name);
  return (
    <>
      {canCheck && <Additions text={text} first={form} onChange={show} />}
      <Section
        title={file.name}
        isFlush
        about={<State {...{ isChanged, isChecking, errors }} />}
        actions={
          <Actions
            isCompared={isCompared}
            isChanged={isChanged}
            canApply={source.isWritable && isChanged && isValid}
            onCompare={() => setCompared(!isCompared)}
            onDiscard={() => setText(file.text)}
            onDownload={() => save(draft)}
            onTry={canCheck ? () => void trial.attempt() : undefined}
            canTry={isValid && !trial.isTrying}
            onApply={() => void apply()}
          />
        }
      >
        <Editor
          {...{ text, problems, language }}
          label={`Source of ${file.name}`}
          original={isCompared ? file.text : undefined}
          onChange={setText}
          running={editor}
        />
        <div class="panel-foot stack">
          <Problem>{result.problem}</Problem>
          <Message>{message}</Message>
          {showsChanges && <ChangesOfDraft draft={draft} />}
          <Trial trial={trial} />
          <Diagnostics
            diagnostics={result.diagnostics}
            onGoTo={(line) => editor.current?.goTo(line)}
          />
          <ReadOnly source={source} canCheck={canCheck} />
        </div>
      </Section>
    </>
  );
}

function useText({ hash }: Source, file: Source["files"][number]) {
  const [text, setText] = useState(file.text);
  // The editor stays: a new one would begin at the top.
  useLayoutEffect(() => setText(file.text), [hash, file.text]);
  const [isCompared, setCompared] = useState(false);
  const show = (next: string) => {
    setText(next);
    setCompared(true);
  };
  return { text, setText, show, isCompared, setCompared };
}

/** Returns the problems of a file; the same list until there are others. */
function useProblems({ diagnostics }: DraftResult, name: string) {
  return useMemo(
    () => diagnostics.filter(({ file }) => file === name),
    [diagnostics, name],
  );
}

function save({ name, text }: DraftText): void {
  const base = name.split("/").at(-1) ?? "gateway.yaml";
  download(base, text, "application/yaml");
}

function countErrors({ diagnostics }: DraftResult): number {
  return diagnostics.filter(({ severity }) => severity === "error").length;
}

interface ActionsProps {
  readonly isCompared: boolean;
  readonly isChanged: boolean;
  readonly canApply: boolean;
  readonly onCompare: () => void;
  readonly onDiscard: () => void;
  readonly onDownload: () => void;
  /** Set where drafts can be tried. */
  readonly onTry: (() => void) | undefined;
  readonly canTry: boolean;
  readonly onApply: () => void;
}

function Actions(props: ActionsProps) {
  return (
    <>
      <Button isPressed={props.isCompared} onPress={props.onCompare}>
        Changes
      </Button>
      <Button isDisabled={!props.isChanged} onPress={props.onDiscard}>
        Discard
      </Button>
      <Button onPress={props.onDownload}>Download</Button>
      {props.onTry && (
        <Button isDisabled={!props.canTry} onPress={props.onTry}>
          Try on the last 1,000 requests
        </Button>
      )}
      <Button isMain isDisabled={!props.canApply} onPress={props.onApply}>
        Apply
      </Button>
    </>
  );
}

function ReadOnly(
  { source, canCheck }: Pick<DraftProps, "source" | "canCheck">,
) {
  if (source.isWritable) return null;
  return <p class="quiet">{whyReadOnly(source, canCheck)}</p>;
}

function whyReadOnly({ needsToken }: Source, canCheck: boolean): string {
  if (!canCheck) {
    return "Read-only: the admin server checks and applies changes.";
  }
  return needsToken
    ? "Read-only: set config.adminToken to apply changes here. They can be checked and downloaded."
    : "Read-only: the files cannot be written. Changes can be checked and downloaded.";
}

interface StateProps {
  readonly isChanged: boolean;
  readonly isChecking: boolean;
  readonly errors: number;
}

function State({ isChanged, isChecking, errors }: StateProps) {
  return (
    <span class="row" role="status">
      <Badge tone={isChanged ? "info" : "good"}>
        {isChanged ? "changed" : "in force"}
      </Badge>
      {isChecking
        ? <Badge>checking…</Badge>
        : (
          <Badge tone={errors === 0 ? "good" : "bad"}>
            {errors === 0
              ? "valid"
              : `${errors} ${errors === 1 ? "error" : "errors"}`}
          </Badge>
        )}
    </span>
  );
}
