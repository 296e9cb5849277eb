import assert from "node:assert/strict";
import { terminalSvg } from "./terminal_svg.ts";

/** What is drawn, without the frame. */
function drawn(screen: string): readonly string[] {
  return terminalSvg(screen, 20, "a title").split("\n")
    .filter((line) => /^<text|^<rect x="[1-9]/.test(line));
}

Deno.test("terminalSvg draws each look as text at its column", () => {
  assert.deepEqual(drawn("ab \x1b[31;1mc d\x1b[0m\n\x1b[2m\n<e>&\n\n"), [
    '<text x="14.0" textLength="16.8" y="27" class="text">ab</text>',
    '<text x="39.2" textLength="25.2" y="27" class="red bold">c d</text>',
    '<text x="14.0" textLength="33.6" y="63" class="text faint">&lt;e&gt;&amp;</text>',
  ]);
});

Deno.test("terminalSvg fills what is reversed", () => {
  assert.deepEqual(drawn("\x1b[7m a \x1b[0m"), [
    '<rect x="14.0" width="25.2" y="14" height="18" class="text"/>',
    '<text x="22.4" textLength="8.4" y="27" class="paper">a</text>',
  ]);
});

Deno.test("terminalSvg refuses a look that it does not know", () => {
  assert.throws(
    () => terminalSvg("\x1b[95ma", 20, "a title"),
    /Cannot draw the look "95" of a terminal/,
  );
});

Deno.test("terminalSvg says its title and has colours for light and dark", () => {
  const svg = terminalSvg("a", 20, "A <title>");

  assert.match(svg, /<title>A &lt;title&gt;<\/title>/);
  assert.match(svg, /prefers-color-scheme: dark/);
});
