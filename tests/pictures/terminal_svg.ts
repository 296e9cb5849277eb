import { widthOf } from "../../cli/tui/columns.ts";

/** Characters of one look, from a column on. */
interface Run {
  readonly column: number;
  readonly text: string;
  readonly look: Look;
}

interface Look {
  readonly isBold: boolean;
  readonly isFaint: boolean;
  readonly isReversed: boolean;
  readonly colour: "text" | "red" | "green" | "yellow";
}

const plain: Look = {
  isBold: false,
  isFaint: false,
  isReversed: false,
  colour: "text",
};

const charWidth = 8.4;
const lineHeight = 18;
const margin = 14;

/** Follows the reader's light or dark theme; both are readable where a viewer knows no themes. */
const style = `
svg { --paper: #ffffff; --edge: #d0d7de; --text: #1f2328; --red: #b3261e; --green: #116329; --yellow: #7d4e00 }
@media (prefers-color-scheme: dark) {
  svg { --paper: #0d1117; --edge: #30363d; --text: #e6edf3; --red: #ff8a80; --green: #56d364; --yellow: #e3b341 }
}
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
.bold { font-weight: bold }
.faint { opacity: 0.7 }
.paper { fill: var(--paper) }
.text { fill: var(--text) }
.red { fill: var(--red) }
.green { fill: var(--green) }
.yellow { fill: var(--yellow) }
`;

/**
 * A picture of a terminal.
 * @param screen Rows with escape sequences for colours, as `tmux capture-pane -e` has them.
 * @param title What is to be seen, for readers that see no pictures.
 */
export function terminalSvg(
  screen: string,
  columns: number,
  title: string,
): string {
  const rows = parseScreen(screen);
  const width = Math.ceil(columns * charWidth + 2 * margin);
  const height = rows.length * lineHeight + 2 * margin;
  const size = `width="${width}" height="${height}"`;
  return [
    // Spaces are what they are.
    "<!-- deno-fmt-ignore-file -->",
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${style}</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${
      height - 1
    }" rx="8" class="paper" style="stroke: var(--edge)"/>`,
    ...rows.flatMap((runs, row) => runs.flatMap((run) => drawRun(run, row))),
    "</svg>\n",
  ].join("\n");
}

function drawRun({ column, text, look }: Run, row: number): readonly string[] {
  const top = margin + row * lineHeight;
  const { colour, isReversed, isBold, isFaint } = look;
  const rectangle = `<rect ${
    place(column, text)
  } y="${top}" height="${lineHeight}" class="${colour}"/>`;
  const shown = text.trim();
  const from = column + text.length - text.trimStart().length;
  const classes = [
    isReversed ? "paper" : colour,
    isBold ? "bold" : "",
    isFaint ? "faint" : "",
  ].filter((name) => name !== "").join(" ");
  const line = `<text ${place(from, shown, "textLength")} y="${
    top + 13
  }" class="${classes}">${escape(shown)}</text>`;
  return [
    ...(isReversed ? [rectangle] : []),
    ...(shown === "" ? [] : [line]),
  ];
}

/** The columns stay where they are whatever font there is. */
function place(column: number, text: string, name = "width"): string {
  const x = (margin + column * charWidth).toFixed(1);
  return `x="${x}" ${name}="${(widthOf(text) * charWidth).toFixed(1)}"`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

/** What looks alike is one run; the look at the end of a row goes on in the next one. */
function parseScreen(screen: string): readonly (readonly Run[])[] {
  let look = plain;
  return screen.replace(/\n+$/, "").split("\n").map((row) => {
    const runs: Run[] = [];
    let column = 0;
    // Text and parameters of "select graphic rendition" (ECMA-48) take turns.
    for (const [index, part] of row.split(escapeSequence).entries()) {
      if (index % 2 === 1) look = changeLook(look, part);
      else if (part !== "") runs.push({ column, text: part, look });
      if (index % 2 === 0) column += widthOf(part);
    }
    return runs;
  });
}

// deno-lint-ignore no-control-regex -- the language of terminals
const escapeSequence = /\x1b\[([0-9;]*)m/;

const changes: Readonly<Record<string, Partial<Look>>> = {
  "": plain,
  "0": plain,
  "1": { isBold: true },
  "2": { isFaint: true },
  "7": { isReversed: true },
  "31": { colour: "red" },
  "32": { colour: "green" },
  "33": { colour: "yellow" },
  "39": { colour: "text" },
  "49": {},
};

function changeLook(look: Look, parameters: string): Look {
  return parameters.split(";").reduce((look, parameter) => {
    const change = changes[parameter];
    if (change === undefined) {
      throw new Error(`Cannot draw the look "${parameter}" of a terminal`);
    }
    return { ...look, ...change };
  }, look);
}
