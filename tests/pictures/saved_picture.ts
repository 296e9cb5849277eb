const docs = new URL("../../docs/", import.meta.url);

/** The picture in the documentation; an empty text when there is none. */
export async function readPicture(name: string): Promise<string> {
  try {
    return await Deno.readTextFile(new URL(name, docs));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** Keeps the file when only times would differ. */
export async function savePicture(name: string, svg: string): Promise<void> {
  if (textOf(await readPicture(name)) === textOf(svg)) return;
  await Deno.mkdir(docs, { recursive: true });
  await Deno.writeTextFile(new URL(name, docs), svg);
}

/** What is to be read in a picture, without times. */
export function textOf(svg: string): string {
  return svg.replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/[\d.]+ (?:µs|ms|s)\b|eventEnd: \d+/g, "")
    .replaceAll(/\s+/g, " ");
}
