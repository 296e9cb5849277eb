import assert from "node:assert/strict";
import { fileSource, validateConfiguration } from "../../mod.ts";
import { environmentOf, writeFilesOf } from "../harness/process/named_files.ts";
import { blocksOf, documents, isPage } from "./documents.ts";
import { readFile, repositoryFiles, root } from "./repository.ts";

for (const document of documents) {
  for (const { line, text } of blocksOf(await readFile(document), "yaml")) {
    if (!/^(gateways|routes|backends|policies|config|kind):/m.test(text)) {
      continue;
    }
    // Resources that run the gateway on Kubernetes, which it does not read.
    if (/^kind: Deployment$/m.test(text)) continue;
    Deno.test(`the configuration at ${document}:${line} is valid`, async () => {
      const directory = await Deno.makeTempDir();
      const path = `${directory}/gateway.yaml`;
      await Deno.writeTextFile(path, text);
      await writeFilesOf(text, directory);

      const { diagnostics, text: shown } = await validateConfiguration(
        fileSource(path),
        environmentOf(text),
      );

      assert.deepEqual(diagnostics, [], shown);
      await Deno.remove(directory, { recursive: true });
    });
  }
}

Deno.test("README has at most 200 lines", async () => {
  const lines = (await readFile("README.md")).split("\n").length - 1;

  assert(lines <= 200, `README.md has ${lines} lines`);
});

Deno.test("README links to every page of docs", async () => {
  const readme = await readFile("README.md");
  const pages = documents.filter((path) =>
    isPage(path) && path !== "README.md"
  );

  assert.deepEqual(pages.filter((path) => !readme.includes(`](${path})`)), []);
});

Deno.test("every make target that a document names exists", async () => {
  const targets = new Set(
    [...(await readFile("Makefile")).matchAll(/^([a-z0-9-]+):/gm)].map((
      [, name],
    ) => name),
  );
  const unknown: string[] = [];
  for (const document of documents) {
    for (
      const [text, name] of (await readFile(document)).matchAll(
        /(?:`|^(?:\$ )? *)make ([a-z0-9-]+)/gm,
      )
    ) {
      if (!targets.has(name)) unknown.push(`${document}: ${text}`);
    }
  }

  assert.deepEqual(unknown, []);
});

Deno.test("every relative link of a document leads to a file", async () => {
  const files = await repositoryFiles();
  const broken: string[] = [];
  for (const document of documents) {
    for (const { target, path } of await linksOf(document)) {
      const folder = path.replace(/\/?$/, "/");
      const exists = files.includes(path) ||
        files.some((file) => file.startsWith(folder));
      if (!exists) broken.push(`${document}: ${target}`);
    }
  }

  assert.deepEqual(broken, []);
});

Deno.test("every source file that the map and the recipes name exists", async () => {
  const files = await repositoryFiles();
  const missing: string[] = [];
  for (const document of ["src/README.md", "CONTRIBUTING.md"]) {
    const text = await readFile(document);
    const written = [...text.matchAll(/\bWrite\s+`([^`]+)`/g)]
      .map(([, name]) => name);
    for (
      const [, name = ""] of text.matchAll(
        /`((?:\.\.\/)?[a-z_.]+\/[a-z0-9_/.]+)`/g,
      )
    ) {
      if (written.includes(name)) continue;
      const path = new URL(name, new URL(document, root)).href.slice(
        root.href.length,
      );
      const folder = path.replace(/\/?$/, "/");
      const exists = files.includes(path) ||
        files.some((file) => file.startsWith(folder));
      if (!exists) missing.push(`${document}: ${name}`);
    }
  }

  assert.deepEqual(missing, []);
});

Deno.test("every link to a heading of a document leads to one", async () => {
  const anchors = new Map<string, readonly string[]>();
  for (const document of documents) {
    const headings = (await readFile(document)).matchAll(/^#+ (.*)$/gm);
    anchors.set(
      document,
      [...headings].map(([, text = ""]) =>
        text.toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-")
      ),
    );
  }
  const broken: string[] = [];
  for (const document of documents) {
    for (const { target, path, anchor } of await linksOf(document)) {
      if (anchor === "" || anchors.get(path)?.includes(anchor)) continue;
      broken.push(`${document}: ${target}#${anchor}`);
    }
  }

  assert.deepEqual(broken, []);
});

interface Link {
  /** As written, without the heading; empty for the same document. */
  readonly target: string;
  /** Relative to the repository. */
  readonly path: string;
  readonly anchor: string;
}

async function linksOf(document: string): Promise<Link[]> {
  const links = (await readFile(document)).matchAll(
    /\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g,
  );
  return [...links].map(([, target = "", anchor = ""]) => ({
    target,
    anchor,
    path: target === ""
      ? document
      : new URL(target, new URL(document, root)).href.slice(root.href.length),
  }));
}
