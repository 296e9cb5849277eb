import { loadPage } from "#page";

/** A file of the page. */
export interface PageFile {
  readonly contentType: string;
  readonly text: string;
}

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
};

let loading: Promise<ReadonlyMap<string, PageFile>> | undefined;

/**
 * Returns the files of the page by name; the document has the empty name. The executable contains them; with the source, the
 * first call bundles them.
 * @throws {Error} When they cannot be bundled; the next call attempts it again.
 */
export function pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  loading ??= loadFiles().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function loadFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const texts = Object.entries(await loadPage());
  return new Map(texts.map(([name, text]) => {
    const extension = name.split(".").at(-1) ?? "";
    const contentType = contentTypes[extension] ?? "text/plain";
    return [name === "index.html" ? "" : name, { contentType, text }];
  }));
}
