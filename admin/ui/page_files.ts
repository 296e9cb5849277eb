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
  json: "application/json",
};

/** Returns headers that restrict the page to its own files and server. @param origins Others that it may call. */
export function pageHeaders(
  origins: readonly string[] = [],
): Readonly<Record<string, string>> {
  return {
    "content-security-policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src data:",
      ["connect-src 'self'", ...origins].join(" "),
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ].join("; "),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
  };
}

let loading: Promise<ReadonlyMap<string, PageFile>> | undefined;

/**
 * Returns the files of the page by name; the document has the empty name. The executable contains them; with the source, the
 * first call bundles them.
 * @throws {Error} When they cannot be bundled.
 */
export function pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  return loading ??= loadFiles();
}

/**
 * Starts to bundle the files of the source, for a process that may start no programs later; the executable loads its files when
 * they are first requested. Requests for the page report errors.
 */
export function preparePage(): void {
  const isSource = import.meta.url.endsWith("/admin/ui/page_files.ts");
  if (isSource) void pageFiles().catch(() => undefined);
}

async function loadFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const texts = Object.entries(await loadPage());
  return new Map(texts.map(([name, text]) => {
    const extension = name.split(".").at(-1) ?? "";
    const contentType = contentTypes[extension] ?? "text/plain";
    return [name === "index.html" ? "" : name, { contentType, text }];
  }));
}
