// `make pictures`: the pictures of the documentation, each taken from a real run.
import { drawTrace } from "./trace_picture.ts";

const docs = new URL("../../docs/", import.meta.url);

/** Keeps the file when only times would differ. */
async function save(name: string, picture: string): Promise<void> {
  const file = new URL(name, docs);
  const earlier = await Deno.readTextFile(file).catch(ignoreMissing);
  if (textOf(earlier) === textOf(picture)) return;
  await Deno.mkdir(docs, { recursive: true });
  await Deno.writeTextFile(file, picture);
}

function ignoreMissing(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "";
  throw error;
}

/** What is to be read in a picture, without times. */
function textOf(svg: string): string {
  return svg.replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/[\d.]+ (?:µs|ms|s)\b|eventEnd: \d+/g, "")
    .replaceAll(/\s+/g, " ");
}

await save("trace.svg", await drawTrace());
