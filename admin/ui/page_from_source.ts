/**
 * Bundles the web UI from its source. The build replaces this module, `#page` in `deno.json`, by one that contains the result.
 */
import repositoryConfig from "../../deno.json" with { type: "json" };
import { fileSchema } from "../../src/config/file_schema.ts";
import { schemasOf } from "../../src/gateway/candidate/candidate.ts";
import pageConfig from "./page/deno.json" with { type: "json" };

const page = new URL("./page/", import.meta.url);

/**
 * Returns the texts of the page's files by name. The bundler is started before this returns, so that the caller may drop the
 * permission to start programs.
 * @throws {Error} When the page cannot be bundled.
 */
export function loadPage(): Promise<Readonly<Record<string, string>>> {
  const output = Deno.makeTempDirSync({ prefix: "gateway-page-" });
  return readPage(output, startBundler(output)).finally(() =>
    Deno.remove(output, { recursive: true })
  );
}

async function readPage(
  output: string,
  bundling: Promise<Deno.CommandOutput>,
): Promise<Readonly<Record<string, string>>> {
  const { success, stderr } = await bundling;
  if (!success) {
    const reason = new TextDecoder().decode(stderr).trim();
    throw new Error(
      `Cannot bundle the web UI: ${reason}; build the executable with "make build", or start the gateway with "deno run -A main.ts"`,
    );
  }
  const texts = {
    "index.html": await Deno.readTextFile(new URL("index.html", page)),
    "schema.json": JSON.stringify(await fileSchema(schemasOf())),
  };
  for await (const { name } of Deno.readDir(output)) {
    if (!/\.(css|js)$/.test(name)) continue;
    Object.assign(texts, {
      [name]: await Deno.readTextFile(`${output}/${name}`),
    });
  }
  return texts;
}

/** Bundles with the packages and the lock file of the repository, and the compiler options of the page. */
function startBundler(output: string): Promise<Deno.CommandOutput> {
  const config = `${output}/config.json`;
  const { compilerOptions } = pageConfig;
  const { imports, nodeModulesDir } = repositoryConfig;
  Deno.writeTextFileSync(
    config,
    JSON.stringify({ imports, nodeModulesDir, compilerOptions }),
  );
  return new Deno.Command(Deno.execPath(), {
    args: [
      "bundle",
      "--quiet",
      "--platform=browser",
      "--minify",
      "--code-splitting",
      `--config=${config}`,
      `--lock=${fileOf(new URL("../../deno.lock", import.meta.url))}`,
      "--frozen",
      `--outdir=${output}`,
      fileOf(new URL("main.tsx", page)),
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    env: { NO_COLOR: "1" },
  }).output();
}

function fileOf(url: URL): string {
  return decodeURIComponent(url.pathname);
}
