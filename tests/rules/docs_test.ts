import assert from "node:assert/strict";
import { createAuthority } from "../harness/certificates.ts";
import { logModules } from "../../cli/log_modules.ts";
import { describeFile } from "../../cli/reference.ts";
import { fileSchema } from "../../src/config/file_schema.ts";
import { respondToError } from "../../src/proxy/respond.ts";
import { GatewayError, type GatewayErrorCode } from "../../src/base/errors.ts";
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
  /^(?:(?:src\/)?README|docs\/\w+)\.md$/.test(path)
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
    // What runs the gateway on Kubernetes, rather than what the gateway reads.
    if (/^kind: Deployment$/m.test(text)) continue;
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
    [...(await readFile("Makefile")).matchAll(/^([a-z0-9-]+):/gm)].map((
      [, name],
    ) => name),
  );
  const unknown: string[] = [];
  for (const document of documents) {
    for (
      const [text, name] of (await readFile(document)).matchAll(
        /(?:`|^ *)make ([a-z0-9-]+)/gm,
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
    const links = (await readFile(document)).matchAll(
      /\]\(((?!https?:)[^)#]*)#([^)]+)\)/g,
    );
    for (const [, target = "", anchor = ""] of links) {
      const path = target === ""
        ? document
        : new URL(target, new URL(document, root)).href.slice(root.href.length);
      if (!anchors.get(path)?.includes(anchor)) {
        broken.push(`${document}: ${target}#${anchor}`);
      }
    }
  }

  assert.deepEqual(broken, []);
});

const readme = await readFile("README.md");

/** README and what it links to. */
const manual = (await Promise.all(
  documents.filter((path) => !path.startsWith("src/")).map(readFile),
)).join("\n");

/** The rows of the table of the manual whose head begins with `| first |`, cell by cell. */
function tableRows(first: string): string[][] {
  const [, table = ""] = manual.split(new RegExp(`^\\| ${first} .*\n`, "m"));
  const rows = /^(?:\|.*\n)+/.exec(table)?.[0].trimEnd().split("\n") ?? [];
  return rows.slice(1).map((row) =>
    row.split("|").slice(1, -1).map((cell) => cell.trim())
  );
}

/** What stands between backticks. */
function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

/** What `pattern` finds in the modules of the product, the playground aside. */
async function findInSource(pattern: RegExp): Promise<string[]> {
  const paths = (await productFiles()).filter((path) =>
    !path.startsWith("cli/dev/")
  );
  const texts = await Promise.all(paths.map(readFile));
  const found = texts.flatMap((text) =>
    [...text.matchAll(pattern)].map(([, name = ""]) => name)
  );
  return [...new Set(found)].sort();
}

Deno.test("README shows the mistake as the gateway does", async () => {
  const [config = ""] = blocksOf(readme, "yaml").map(({ text }) => text)
    .filter((text) => text.startsWith("# gateway.yaml"));
  const [, shown] =
    /^\$ \S+ -f gateway\.yaml --validate-only\n(gateway\.yaml:.*)/ms
      .exec(
        blocksOf(readme, "console").map(({ text }) => text).find((text) =>
          text.includes(": error: ")
        ) ?? "",
      ) ?? [];
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(
    `${directory}/gateway.yaml`,
    config.replace("type: PathPrefix", "type: Prefix"),
  );

  const { stderr } = await gatewayCommand({
    args: ["-f", "gateway.yaml", "--validate-only"],
    cwd: directory,
  }).output();

  assert.equal(new TextDecoder().decode(stderr), shown);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("README shows a request that make run prints", async () => {
  const guide = await readFile("cli/dev_command.ts");
  const [request = ""] = blocksOf(readme, "console").map(({ text }) => text)
    .filter((text) => text.startsWith("$ curl http://localhost:3000"));
  const words = (text: string) =>
    text.replace(/\\+\n/g, "").replaceAll(/\s+/g, " ");

  assert.notEqual(request, "");
  assert(
    words(guide.replaceAll("${gateway}", "http://localhost:3000")).includes(
      words(request.slice("$ ".length)).trim(),
    ),
  );
});

Deno.test("the manual explains every reason with its status", async () => {
  const codes = [
    ...(await readFile("src/base/errors.ts")).matchAll(/^ {2}\| "([a-z_]+)"/gm),
  ].map(([, code]) => code as GatewayErrorCode);
  const expected = codes.map((code) => {
    const { status } = respondToError(new GatewayError(code, "gateway", ""));
    return `${code} ${status}`;
  });
  const refusals = [
    ...(await readFile("src/telemetry/log/finished_request.ts")).matchAll(
      /^ {2}\| "([a-z_]+)"/gm,
    ),
  ].map(([, reason = ""]) => reason);
  const rows = tableRows("`reason`").map(([name = "", status]) => ({
    name: codeIn(name).join(" "),
    status,
  }));

  assert.deepEqual(
    rows.filter(({ name }) => !refusals.includes(name)).map((
      { name, status },
    ) => `${name} ${status}`).sort(),
    [...expected, "upstream any", "direct_response any"].sort(),
  );
  assert.deepEqual(
    rows.map(({ name }) => name).filter((name) => refusals.includes(name))
      .sort(),
    refusals.toSorted(),
  );
});

Deno.test("the manual lists every field of an access log line", async () => {
  const added = [
    ...(await readFile("src/telemetry/log/access_log.ts")).matchAll(
      /\badd\("([a-z.]+)"/g,
    ),
  ].map(([, field]) => field);
  const listed = tableRows("field").flatMap((cells) => codeIn(cells.join(" ")));

  assert.deepEqual(added.filter((name) => !listed.includes(name ?? "")), []);
});

Deno.test("the manual lists every metric and no other", async () => {
  const listed = tableRows("metric").flatMap(([names = ""]) => codeIn(names));

  assert.deepEqual(
    listed.sort(),
    await findInSource(/"((?:gateway|process)_[a-z_]+)"/g),
  );
});

Deno.test("README and gwctl know every module that logs", async () => {
  const [, listed = ""] =
    /`level` sets modules apart: ([^.]*)\./.exec(readme) ??
      [];

  assert.deepEqual(
    logModules,
    await findInSource(/\.(?:module|log)\("([a-z.]+)"\)/g),
  );
  assert.deepEqual(codeIn(listed), logModules);
});

Deno.test("README names every kind of policy that is supported", async () => {
  const [, listed = ""] = /^This version has ([^.]*)\./m.exec(readme) ?? [];
  const [, table = ""] = describeFile(await fileSchema()).split(
    "\n### Traffic\n",
  );
  const [traffic = ""] = table.split("\n### ");
  const supported = [...traffic.matchAll(/^\| `([A-Za-z]+)` \|(.*)$/gm)].filter(
    ([, , row = ""]) => !row.includes("Not supported by this version"),
  ).map(([, kind]) => kind);

  assert.deepEqual(codeIn(listed), supported);
});
