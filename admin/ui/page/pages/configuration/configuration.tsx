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
  Message,
  PageHead,
  Problem,
  Section,
} from "../../kit/layout.tsx";
import { messageOf, postJson } from "../../server/api.ts";
import { useFetched } from "../../server/poll.ts";
import { Trial, useTrial } from "./trial.tsx";

const PAUSE_MS = 400;

type Source = UiResponses["source"];
type DraftResult = UiResponses["source/check"];

/** The page of the configuration. */
export function Configuration({ status }: PageProps) {
  const { data: source, problem } = useFetched("source", status.hash);
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
      {source && file && (
        <Draft
          key={file.name}
          source={source}
          file={file}
          canCheck={status.server === "admin"}
        />
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
}

function Draft({ source, file, canCheck }: DraftProps) {
  const [text, setText] = useState(file.text);
  // The editor stays: a new one would begin at the top.
  useLayoutEffect(() => setText(file.text), [source.hash, file.text]);
  const [isCompared, setCompared] = useState(false);
  const editor = useRef<RunningEditor>(null);
  const draft = { hash: source.hash, name: file.name, text };
  const { result, isChecking, setResult } = useCheck(draft, canCheck);
  const { message, apply } = useApply(draft, setResult);
  const trial = useTrial(draft);
  const isChanged = text !== file.text;
  const errors = countErrors(result);
  const isValid = errors === 0 && result.problem === undefined;
  const own = useMemo(
    () => result.diagnostics.filter((each) => each.file === file.name),
    [result],
  );
  return (
    <Section
      title={file.name}
      isFlush
      about={
        <State
          isChanged={isChanged}
          isChecking={isChecking}
          errors={errors}
        />
      }
      actions={
        <Actions
          isCompared={isCompared}
          isChanged={isChanged}
          canApply={source.isWritable && isChanged && isValid && !isChecking}
          onCompare={() => setCompared(!isCompared)}
          onDiscard={() => setText(file.text)}
          onDownload={() =>
            download(
              file.name.split("/").at(-1) ?? "gateway.yaml",
              text,
              "application/yaml",
            )}
          onTry={canCheck ? () => void trial.attempt() : undefined}
          canTry={isValid && !isChecking && !trial.isTrying}
          onApply={() => void apply()}
        />
      }
    >
      <Editor
        label={`Source of ${file.name}`}
        text={text}
        problems={own}
        original={isCompared ? file.text : undefined}
        onChange={setText}
        running={editor}
      />
      <div class="panel-foot stack">
        <Problem>{result.problem}</Problem>
        <Message>{message}</Message>
        <Trial trial={trial} />
        <Diagnostics
          diagnostics={result.diagnostics}
          onGoTo={(line) => editor.current?.goTo(line)}
        />
        <ReadOnly source={source} canCheck={canCheck} />
      </div>
    </Section>
  );
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

function ReadOnly({ source, canCheck }: Omit<DraftProps, "file">) {
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

interface DiagnosticsProps {
  readonly diagnostics: DraftResult["diagnostics"];
  readonly onGoTo: (line: number) => void;
}

function Diagnostics({ diagnostics, onGoTo }: DiagnosticsProps) {
  if (diagnostics.length === 0) return null;
  return (
    <ul class="diagnostics" aria-label="Diagnostics">
      {diagnostics.map((each, index) => (
        <li key={index}>
          <Badge tone={each.severity === "error" ? "bad" : "warn"}>
            {each.severity}
          </Badge>
          <Button onPress={() => onGoTo(each.line)}>Line {each.line}</Button>
          <span>
            {each.path !== "" && <code>{each.path}</code>} {each.message}
            {each.suggestion !== undefined && (
              <>
                ; did you mean <code>{each.suggestion}</code>?
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

type DraftText = Readonly<Record<"hash" | "name" | "text", string>>;

/** Applies a draft, and says what came of it. */
function useApply(draft: DraftText, setResult: (result: DraftResult) => void) {
  const [message, setMessage] = useState("");
  useLayoutEffect(() => setMessage(""), [draft.text]);
  const apply = async () => {
    setMessage("Applying…");
    try {
      const applied = await postJson("source/apply", draft);
      setResult(applied);
      setMessage(applied.problem === undefined ? "Applied." : "");
    } catch (error) {
      setMessage("");
      setResult({ diagnostics: [], problem: messageOf(error) });
    }
  };
  return { message, apply };
}

/** Checks a draft after each pause in typing. */
function useCheck(
  draft: DraftText,
  canCheck: boolean,
) {
  const [result, setResult] = useState<DraftResult>({ diagnostics: [] });
  const [isChecking, setChecking] = useState(false);
  // Before the result for the text before could be taken for its own.
  useLayoutEffect(() => {
    if (!canCheck) return;
    const leaving = new AbortController();
    setChecking(true);
    const timer = setTimeout(async () => {
      try {
        setResult(
          await postJson("source/check", draft, leaving.signal),
        );
        setChecking(false);
      } catch (error) {
        if (leaving.signal.aborted) return;
        setChecking(false);
        setResult({ diagnostics: [], problem: messageOf(error) });
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [draft.hash, draft.name, draft.text]);
  return { result, isChecking, setResult };
}
