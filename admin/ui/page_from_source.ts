/**
 * Bundles the web UI from its source. The build replaces this module, `#page` in `deno.json`, by one that contains the result.
 */
import repositoryConfig from "../../deno.json" with { type: "json" };
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
  const styles = await readTexts(new URL("style/", page), ".css");
  return {
    "index.html": await Deno.readTextFile(new URL("index.html", page)),
    // In the order of their names; cascade layers make the order irrelevant.
    "page.css": Object.values(styles).join("\n"),
    ...await readTexts(output, ".js"),
  };
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

async function readTexts(
  folder: string | URL,
  extension: string,
): Promise<Record<string, string>> {
  const files = await Array.fromAsync(Deno.readDir(folder));
  const names = files.map(({ name }) => name).filter((name) =>
    name.endsWith(extension)
  ).sort();
  const texts: Record<string, string> = {};
  for (const name of names) {
    const path = folder instanceof URL
      ? new URL(name, folder)
      : `${folder}/${name}`;
    texts[name] = await Deno.readTextFile(path);
  }
  return texts;
}

function fileOf(url: URL): string {
  return decodeURIComponent(url.pathname);
}
