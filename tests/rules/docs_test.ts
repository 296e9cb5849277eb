import assert from "node:assert/strict";
import { createAuthority } from "../harness/certificates.ts";
import { gatewayCommand } from "../harness/executable.ts";
import { productFiles, readFile, repositoryFiles, root } from "./repository.ts";

interface Documentation {
  readonly nodes: Record<string, { symbols: Symbol[] }>;
}

interface Symbol {
  readonly name: string;
  readonly declarations: {
    declarationKind: string;
    location: { line: number };
    jsDoc?: { doc?: string };
  }[];
}

async function describeExports(
  files: string[],
): Promise<{ at: string; name: string; doc: string }[]> {
  const args = ["doc", "--json", ...files];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
  }).output();
  if (!success) {
    throw new Error(
      `Cannot read the documentation: ${new TextDecoder().decode(stderr)}`,
    );
  }
  const { nodes } = JSON.parse(
    new TextDecoder().decode(stdout),
  ) as Documentation;
  const exports: { at: string; name: string; doc: string }[] = [];
  for (const [specifier, { symbols }] of Object.entries(nodes)) {
    const path = specifier.replace(root.href, "");
    const lines = (await readFile(path)).split("\n");
    for (const { name, declarations } of symbols) {
      const [first] = declarations;
      if (first?.declarationKind !== "export") continue;
      // What is exported again is described where it is declared. `deno doc` counts lines from zero.
      const { line } = first.location;
      if (!/^export (?!(type )?[{*])/.test(lines[line] ?? "")) continue;
      const doc = declarations.map(({ jsDoc }) => jsDoc?.doc ?? "").join("");
      exports.push({ at: `${path}:${line + 1}`, name, doc });
    }
  }
  return exports;
}

Deno.test("every export of src has a docstring that says what it is", async () => {
  const exports = await describeExports(
    (await productFiles()).filter((path) => /^(src\/|mod\.ts)/.test(path)),
  );

  assert(exports.length > 0);
  assert.deepEqual(
    exports.filter(({ doc }) => doc === "").map(({ at, name }) =>
      `${at} ${name}`
    ),
    [],
  );
  const idle = /^this (function|method|class|interface|type|file)\b/i;
  assert.deepEqual(
    exports.filter(({ doc }) => idle.test(doc)).map(({ at, name }) =>
      `${at} ${name}`
    ),
    [],
  );
});

const documents = (await repositoryFiles()).filter((path) =>
  /^(src\/)?README\.md$/.test(path)
);

/** The fenced blocks in `language` with the line they start at. */
function blocksOf(
  markdown: string,
  language: string,
): { line: number; text: string }[] {
  return [...markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, found]) => found === language)
    .map(({ index, 2: text = "" }) => ({
      line: markdown.slice(0, index).split("\n").length,
      text,
    }));
}

for (const document of documents) {
  for (const { line, text } of blocksOf(await readFile(document), "yaml")) {
    if (!/^(gateways|routes|backends|policies|config|kind):/m.test(text)) {
      continue;
    }
    Deno.test(`the configuration at ${document}:${line} is accepted`, async () => {
      const directory = await Deno.makeTempDir();
      await Deno.writeTextFile(`${directory}/gateway.yaml`, text);
      await writeCertificates(directory, text);

      const args = ["-f", `${directory}/gateway.yaml`, "--validate-only"];
      const { code, stderr } = await gatewayCommand({ args }).output();

      assert.equal(code, 0, new TextDecoder().decode(stderr));
      await Deno.remove(directory, { recursive: true });
    });
  }
}

/** Makes the certificates that a configuration names, such as `tls/api.crt`. */
async function writeCertificates(
  directory: string,
  config: string,
): Promise<void> {
  const authority = await createAuthority();
  for (const [, path] of config.matchAll(/cert: ([\w/.-]+)\.crt/g)) {
    const { cert, key } = await authority.issueServer(["example.com"]);
    const folder = `${directory}/${path?.replace(/\/[^/]*$/, "")}`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(`${directory}/${path}.crt`, cert);
    await Deno.writeTextFile(`${directory}/${path}.key`, key);
  }
}

Deno.test("every make target that a document names exists", async () => {
  const targets = new Set(
    [...(await readFile("Makefile")).matchAll(/^([a-z0-9]+):/gm)].map((
      [, name],
    ) => name),
  );
  const unknown: string[] = [];
  for (const document of documents) {
    for (
      const [text, name] of (await readFile(document)).matchAll(
        /(?:`|^ *)make ([a-z0-9]+)/gm,
      )
    ) {
      if (!targets.has(name)) unknown.push(`${document}: ${text}`);
    }
  }

  assert.deepEqual(unknown, []);
});

Deno.test("every relative link of a document leads to a file", async () => {
  const files = new Set(await repositoryFiles());
  const broken: string[] = [];
  for (const document of documents) {
    for (
      const [, target = ""] of (await readFile(document)).matchAll(
        /\]\((?!https?:|#)([^)#]+)/g,
      )
    ) {
      const path = new URL(target, new URL(document, root)).href.slice(
        root.href.length,
      );
      const isFolder = [...files].some((file) =>
        file.startsWith(path.replace(/\/?$/, "/"))
      );
      if (!files.has(path) && !isFolder) broken.push(`${document}: ${target}`);
    }
  }

  assert.deepEqual(broken, []);
});
