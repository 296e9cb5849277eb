/** The code editor, loaded when a page needs it. It lives in a shadow root, where its styles are adopted and not inline. */
import {
  autocompletion,
  closeBrackets,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import {
  type Diagnostic,
  lintGutter,
  lintKeymap,
  setDiagnostics,
} from "@codemirror/lint";
import { unifiedMergeView } from "@codemirror/merge";
import {
  highlightSelectionMatches,
  search,
  searchKeymap,
} from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import {
  completionsAt,
  type EditorLanguage,
  explanationAt,
} from "./yaml_assist.ts";

/** A problem in the text; line and column count from 1. */
export interface TextProblem {
  readonly line: number;
  readonly column: number;
  readonly severity: "error" | "warning";
  readonly message: string;
}

/** Options of an editor. */
export interface EditorSetup {
  readonly text: string;
  /** Names the editor for screen readers. */
  readonly label: string;
  readonly isReadOnly: boolean;
  readonly onChange: (text: string) => void;
}

/** A running editor. */
export interface RunningEditor {
  setText(text: string): void;
  setProblems(problems: readonly TextProblem[]): void;
  /** Marks what differs from `original`; `undefined` marks nothing. */
  compareWith(original: string | undefined): void;
  /** Moves the cursor to a line, from 1, and the focus to the editor. */
  goTo(line: number): void;
  /** Offers completions and explanations. */
  assist(language: EditorLanguage): void;
  close(): void;
}

/** Starts an editor for YAML and JSON in a shadow root. */
export function startEditor(
  root: ShadowRoot,
  { text, label, isReadOnly, onChange }: EditorSetup,
): RunningEditor {
  const comparison = new Compartment();
  const help = new Compartment();
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        features,
        comparison.of([]),
        help.of([]),
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText(next) {
      const changes = changeBetween(view.state.doc.toString(), next);
      if (changes !== undefined) view.dispatch({ changes });
    },
    setProblems(problems) {
      const found = problems.map((problem) => locate(view.state, problem));
      view.dispatch(setDiagnostics(view.state, found));
    },
    compareWith(original) {
      const extension = original === undefined
        ? []
        : unifiedMergeView({ original, mergeControls: false, gutter: true });
      view.dispatch({ effects: comparison.reconfigure(extension) });
    },
    goTo(line) {
      const { from } = view.state.doc.line(
        Math.min(line, view.state.doc.lines),
      );
      view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
      view.focus();
    },
    assist(language) {
      view.dispatch({ effects: help.reconfigure(assistance(language)) });
    },
    close: () => view.destroy(),
  };
}

/** Offers keys and values as they are typed, and explains the key under the pointer. */
function assistance(language: EditorLanguage): Extension {
  return [
    autocompletion({
      override: [
        ({ state, pos, explicit }) =>
          completionsAt(language, state.doc.toString(), pos, explicit),
      ],
      icons: false,
    }),
    keymap.of(completionKeymap),
    hoverTooltip(({ state }, position) => {
      const word = state.wordAt(position);
      if (word === null) return null;
      const text = explanationAt(language, state.doc.toString(), word.to);
      return text === "" ? null : {
        pos: word.from,
        end: word.to,
        above: true,
        create: () => ({ dom: explanation(text) }),
      };
    }),
  ];
}

function explanation(text: string): HTMLElement {
  const element = document.createElement("div");
  element.className = "cm-explanation";
  element.textContent = text;
  return element;
}

/** Returns what differs between two texts, so that cursor and scroll position stay; `undefined` if nothing does. */
function changeBetween(before: string, after: string) {
  if (before === after) return undefined;
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from++;
  let same = 0;
  while (
    same < shorter - from && before.at(-1 - same) === after.at(-1 - same)
  ) same++;
  const insert = after.slice(from, after.length - same);
  return { from, to: before.length - same, insert };
}

function locate(
  { doc }: EditorState,
  { line, column, severity, message }: TextProblem,
): Diagnostic {
  const place = doc.line(Math.max(1, Math.min(line, doc.lines)));
  const from = Math.min(place.to, place.from + column - 1);
  const word = /^[\w.-]+/.exec(doc.sliceString(from, place.to))?.[0].length ??
    1;
  return { from, to: Math.min(place.to, from + word), severity, message };
}

const colors = HighlightStyle.define([
  {
    tag: [tags.propertyName, tags.definition(tags.propertyName)],
    color: "var(--series-1)",
  },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  {
    tag: [tags.number, tags.bool, tags.null, tags.keyword],
    color: "var(--series-4)",
  },
  {
    tag: [tags.comment, tags.lineComment],
    color: "var(--quiet)",
    fontStyle: "italic",
  },
  {
    tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace],
    color: "var(--quiet)",
  },
]);

const look = EditorView.theme({
  "&": {
    backgroundColor: "var(--panel)",
    color: "var(--ink)",
    fontSize: "0.8125rem",
    height: "100%",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-gutters": {
    backgroundColor: "var(--panel)",
    border: "0",
    color: "var(--quiet)",
  },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--raised) 60%, transparent)",
  },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--accent-soft) !important",
  },
  ".cm-tooltip, .cm-panels": {
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line)",
    color: "var(--ink)",
  },
  ".cm-explanation": {
    maxWidth: "36rem",
    padding: "0.25rem 0.5rem",
    whiteSpace: "pre-wrap",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    color: "var(--ink)",
  },
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--raised)",
    border: "0",
    color: "var(--quiet)",
  },
  ".cm-changedLine": { backgroundColor: "var(--good-soft)" },
  ".cm-deletedChunk": { backgroundColor: "var(--bad-soft)" },
  ".cm-deletedChunk .cm-deletedText, .cm-changedText": {
    background: "none",
    textDecoration: "none",
    fontWeight: "700",
  },
});

/** Everything that all editors have. */
const features: Extension = [
  lineNumbers(),
  foldGutter(),
  lintGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  search({ top: true }),
  keymap.of([
    ...defaultKeymap,
    ...historyKeymap,
    ...searchKeymap,
    ...lintKeymap,
  ]),
  yaml(),
  syntaxHighlighting(colors),
  look,
];
