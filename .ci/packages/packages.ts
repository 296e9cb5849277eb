/**
 * Makes the files of a release beside its executables: `packages.ts FOLDER DOWNLOADS HOMEPAGE`. The folder has the executables
 * `gateway-linux-x64`, `gateway-macos-arm64`, … (at least one); `DOWNLOADS` is the address that the folder will have. Writes
 * `install.sh`, Debian packages, npm packages, the Homebrew formula (where all of its executables are there), the bill of
 * materials, and `SHA256SUMS`.
 */
import { createHash } from "node:crypto";
import config from "../../deno.json" with { type: "json" };
import { writeDebianPackage } from "./debian.ts";
import {
  nodePlatforms,
  writeMainPackage,
  writePlatformPackage,
} from "./npm.ts";
import { createSbom } from "./sbom.ts";

const [folder, downloads, homepage] = Deno.args;
if (homepage === undefined || folder === undefined) {
  throw new Error("Usage: packages.ts FOLDER DOWNLOADS HOMEPAGE");
}
const release = await Deno.realPath(folder);
const templates = new URL("../../deploy/packages/", import.meta.url);
const debianArchitectures = { "linux-x64": "amd64", "linux-arm64": "arm64" };

type Platform = keyof typeof nodePlatforms;

function isPlatform(name: string): name is Platform {
  return Object.hasOwn(nodePlatforms, name);
}

async function findExecutables(): Promise<Map<Platform, string>> {
  const found = new Map<Platform, string>();
  for await (const { name } of Deno.readDir(release)) {
    const platform = /^gateway-([a-z]+-[a-z0-9]+)(?:\.exe)?$/.exec(name)?.[1];
    if (platform && isPlatform(platform)) {
      found.set(platform, `${release}/${name}`);
    }
  }
  if (found.size === 0) {
    throw new Error(
      `Cannot find executables such as "gateway-linux-x64" in "${folder}"`,
    );
  }
  return found;
}

/** Reads a file of `deploy/packages` and fills in its values. */
async function readTexts(): Promise<Map<string, string>> {
  const values: Record<string, string | undefined> = {
    VERSION: config.version,
    DOWNLOADS: downloads,
    HOMEPAGE: homepage,
  };
  const texts = new Map<string, string>();
  for await (const { name } of Deno.readDir(templates)) {
    const text = await Deno.readTextFile(new URL(name, templates));
    texts.set(
      name,
      text.replace(/@([A-Z]+)@/g, (all, key) => values[key] ?? all),
    );
  }
  return texts;
}

async function digest(file: string): Promise<string> {
  const hash = createHash("sha256");
  using open = await Deno.open(file);
  for await (const chunk of open.readable) hash.update(chunk);
  return hash.digest("hex");
}

/** Returns nothing if the formula names an executable that is not there. */
async function fillFormula(formula: string): Promise<string | undefined> {
  const parts = formula.split(/@SHA256 ([^@]+)@/);
  for (let i = 1; i < parts.length; i += 2) {
    const file = `${release}/${parts[i]}`;
    const isThere = await Deno.stat(file).then(() => true, () => false);
    if (!isThere) return undefined;
    parts[i] = await digest(file);
  }
  return parts.join("");
}

async function writeSums(): Promise<void> {
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(release)) {
    if (isFile && name !== "SHA256SUMS") names.push(name);
  }
  const lines: string[] = [];
  for (const name of names.toSorted()) {
    lines.push(`${await digest(`${release}/${name}`)}  ${name}\n`);
  }
  await Deno.writeTextFile(`${release}/SHA256SUMS`, lines.join(""));
}

const executables = await findExecutables();
const texts = await readTexts();
for (const [platform, executable] of executables) {
  await writePlatformPackage(platform, executable, release);
}
for (const [platform, architecture] of Object.entries(debianArchitectures)) {
  const executable = isPlatform(platform) && executables.get(platform);
  if (!executable) continue;
  const output = `${release}/gateway_${config.version}_${architecture}.deb`;
  await writeDebianPackage(output, {
    executable,
    architecture,
    texts,
    homepage,
  });
}
await writeMainPackage(
  texts.get("npm.mjs") ?? "",
  [...executables.keys()],
  release,
);
await Deno.writeTextFile(
  `${release}/install.sh`,
  texts.get("install.sh") ?? "",
);
const formula = await fillFormula(texts.get("gateway.rb") ?? "");
if (formula !== undefined) {
  await Deno.writeTextFile(`${release}/gateway.rb`, formula);
}
await Deno.writeTextFile(
  `${release}/gateway.cdx.json`,
  JSON.stringify(await createSbom(new Date()), undefined, 2),
);
await writeSums();
