/** The manual, README and the pages of `docs/`, is complete: it lists what the source has, and nothing else. */
import assert from "node:assert/strict";
import { schemasOf } from "../../src/gateway/candidate/candidate.ts";
import { logModules } from "../../src/base/log/log_filter.ts";
import { describeFile } from "../../cli/schema/reference.ts";
import { textSource, validateConfiguration } from "../../mod.ts";
import { GatewayError, type GatewayErrorCode } from "../../src/base/errors.ts";
import { fileSchema } from "../../src/config/file_schema.ts";
import { respondToError } from "../../src/proxy/request/respond.ts";
import { blocksOf, codeIn, manual, tableRows } from "./documents.ts";
import { productFiles, readFile } from "./repository.ts";
import { builtInPolicies } from "../../src/policy/registry.ts";

Deno.test("the manual shows the error of an invalid configuration as the gateway prints it", async () => {
  const page = await readFile("docs/configuration.md");
  const [config = ""] = blocksOf(page, "yaml").map(({ text }) => text)
    .filter((text) => text.startsWith("# gateway.yaml"));
  const [, shown] =
    /^\$ \S+ -f gateway\.yaml --validate-only\n(gateway\.yaml:.*)/ms
      .exec(
        blocksOf(page, "console").map(({ text }) => text).find((text) =>
          text.includes(": error: ")
        ) ?? "",
      ) ?? [];

  const { text } = await validateConfiguration(
    textSource(
      config.replace("type: PathPrefix", "type: Prefix"),
      "gateway.yaml",
    ),
    {},
  );

  assert.equal(text.trimEnd(), shown?.trimEnd());
});

Deno.test("README shows a request that make run prints", async () => {
  const guide = await readFile("cli/run/dev_command.ts");
  const [request = ""] = blocksOf(await readFile("README.md"), "console")
    .map(({ text }) => text)
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
  const rejections = [...builtInPolicies.rejections.keys()];
  const rows = tableRows("`reason`").map(([name = "", status]) => ({
    name: codeIn(name).join(" "),
    status,
  }));

  assert.deepEqual(
    rows.filter(({ name }) => !rejections.includes(name)).map((
      { name, status },
    ) => `${name} ${status}`).sort(),
    [
      ...expected,
      ...["upstream any", "direct_response any", "llm_provider_limit 429"],
    ].sort(),
  );
  assert.deepEqual(
    rows.map(({ name }) => name).filter((name) => rejections.includes(name))
      .sort(),
    rejections.toSorted(),
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

Deno.test("the manual and gwctl know every module that logs", async () => {
  const [, listed = ""] = /The modules are: ([^.]*)\./.exec(manual) ?? [];

  assert.deepEqual(
    logModules,
    await findInSource(/\.(?:module|log)\("([a-z.]+)"\)/g),
  );
  assert.deepEqual(codeIn(listed), logModules);
});

Deno.test("the manual lists every kind of policy that is supported", async () => {
  const listed = tableRows("policy").flatMap(([name = ""]) => codeIn(name));
  const [, table = ""] = describeFile(await fileSchema(schemasOf())).split(
    "\n### Traffic\n",
  );
  const [traffic = ""] = table.split("\n### ");
  const supported = [...traffic.matchAll(/^\| `([A-Za-z]+)` \|(.*)$/gm)].filter(
    ([, , row = ""]) => !row.includes("Not supported by this version"),
  ).map(([, kind]) => kind);

  assert.deepEqual(listed, supported);
});

/** Returns what `pattern` captures in the modules of the product, except the playground. */
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
