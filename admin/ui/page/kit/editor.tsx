/** A code editor as a component. */
import type { RunningEditor, TextProblem } from "./code_mirror.ts";
import type { EditorLanguage } from "./yaml_assist.ts";
import {
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "./framework.ts";

interface EditorProps {
  /** Names the editor for screen readers. */
  readonly label: string;
  /** The text at first; another one replaces what was typed. */
  readonly text: string;
  readonly isReadOnly?: boolean;
  readonly problems?: readonly TextProblem[];
  /** Marks what differs from this text. */
  readonly original?: string | undefined;
  readonly onChange?: (text: string) => void;
  /** Enables completion and explanations. */
  readonly language?: EditorLanguage | undefined;
  /** Receives the editor once it runs. */
  readonly running?: RefObject<RunningEditor | null>;
}

/** An editor for YAML and JSON with line numbers, search, and problems where they are. Escape, then Tab, leaves it. */
export function Editor(props: EditorProps) {
  const element = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [editor, setEditor] = useState<RunningEditor | undefined>(undefined);
  useEffect(() => {
    let isGone = false;
    let started: RunningEditor | undefined;
    import("./code_mirror.ts").then(({ startEditor }) => {
      const host = element.current;
      if (isGone || host === null) return;
      const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
      const { text, label, isReadOnly = false } = latest.current;
      started = startEditor(root, {
        text,
        label,
        isReadOnly,
        onChange: (next) => latest.current.onChange?.(next),
      });
      if (latest.current.running) latest.current.running.current = started;
      setEditor(started);
    });
    return () => {
      isGone = true;
      started?.close();
    };
  }, []);
  // A later effect would take back what has been typed since.
  useLayoutEffect(() => editor?.setText(props.text), [editor, props.text]);
  useEffect(() => editor?.setProblems(props.problems ?? []), [
    editor,
    props.problems,
  ]);
  useEffect(() => editor?.compareWith(props.original), [
    editor,
    props.original,
  ]);
  useEffect(() => {
    if (props.language !== undefined) editor?.assist(props.language);
  }, [editor, props.language]);
  return <div class="editor" ref={element} />;
}
