const combining = /^[\p{Mn}\p{Me}]$/u;
const emoji = /^\p{Emoji_Presentation}$/u;

/** Blocks of characters that take two columns (Unicode, East Asian Width W and F). */
const wide: readonly (readonly [first: number, last: number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97c],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18cff],
  [0x1b000, 0x1b2fb],
  [0x1f200, 0x1f251],
  [0x20000, 0x3fffd],
];

function columnsOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (combining.test(character)) return 0;
  const isWide = wide.some(([first, last]) => code >= first && code <= last);
  return isWide || emoji.test(character) ? 2 : 1;
}

/** Columns that a printable text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

/** The text in exactly `width` columns: cut with `…`, or filled with spaces. */
export function fit(text: string, width: number): string {
  const columns = widthOf(text);
  if (columns <= width) return text + " ".repeat(width - columns);
  if (width < 1) return "";
  const start = startOf(text, width - 1);
  return start + "…" + " ".repeat(width - 1 - widthOf(start));
}

/** As much of the text as `width` columns hold. */
function startOf(text: string, width: number): string {
  let start = "";
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > width) break;
    start += character;
  }
  return start;
}

/** The text in lines of at most `width` columns; an empty text is one line. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const character of text) {
    const columns = columnsOf(character);
    if (used + columns > width && line !== "") {
      lines.push(line);
      line = "";
      used = 0;
    }
    line += character;
    used += columns;
  }
  return [...lines, line];
}
