const combining = /^[\p{Mn}\p{Me}]$/u;
const emoji = /^\p{Emoji_Presentation}$/u;

/** Ranges of two-column characters (Unicode, East Asian Width W and F). */
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

/** Returns the width of a printable string in columns. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

/** Fits a string into exactly `width` columns: truncates with `…`, or pads with spaces. */
export function fit(text: string, width: number): string {
  const columns = widthOf(text);
  if (columns <= width) return text + " ".repeat(width - columns);
  if (width < 1) return "";
  const start = startOf(text, width - 1);
  return start + "…" + " ".repeat(width - 1 - widthOf(start));
}

/** Returns the start of a string that fits into `width` columns. */
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

/** Wraps a string to lines of at most `width` columns; an empty string is one line. */
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
