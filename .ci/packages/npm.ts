import config from "../../deno.json" with { type: "json" };

/** Names of releases, with those of Node. */
export const nodePlatforms = {
  "linux-x64": { os: "linux", cpu: "x64" },
  "linux-arm64": { os: "linux", cpu: "arm64" },
  "macos-x64": { os: "darwin", cpu: "x64" },
  "macos-arm64": { os: "darwin", cpu: "arm64" },
  "windows-x64": { os: "win32", cpu: "x64" },
} as const;

type Platform = keyof typeof nodePlatforms;

const [scope] = config.name.split("/");

/** Writes the package of one platform, which is the executable; returns the name of the file. */
export function writePlatformPackage(
  platform: Platform,
  executable: string,
  folder: string,
): Promise<string> {
  const { os, cpu } = nodePlatforms[platform];
  const name = `gateway${os === "win32" ? ".exe" : ""}`;
  const manifest = {
    ...describe(`${scope}/${os}-${cpu}`, `The gateway for ${os} ${cpu}`),
    os: [os],
    cpu: [cpu],
    files: [name],
    preferUnplugged: true,
  };
  return pack(manifest, folder, async (tree) => {
    await Deno.copyFile(executable, `${tree}/${name}`);
    await Deno.chmod(`${tree}/${name}`, 0o755);
  });
}

/** Writes the package that users install: npm adds that of their platform. Returns the name of the file. */
export function writeMainPackage(
  launcher: string,
  platforms: readonly Platform[],
  folder: string,
): Promise<string> {
  const executables = platforms.map((platform) => {
    const { os, cpu } = nodePlatforms[platform];
    return [`${scope}/${os}-${cpu}`, config.version];
  });
  const manifest = {
    ...describe(
      config.name,
      "A gateway between AI agents, MCP servers and LLM providers",
    ),
    type: "module",
    bin: { gateway: "gateway.mjs", gwctl: "gwctl.mjs" },
    files: ["gateway.mjs", "gwctl.mjs"],
    engines: { node: ">=18" },
    optionalDependencies: Object.fromEntries(executables),
  };
  return pack(manifest, folder, async (tree) => {
    for (const name of ["gateway", "gwctl"]) {
      await Deno.writeTextFile(
        `${tree}/${name}.mjs`,
        launcher.replaceAll("@SCOPE@", scope ?? ""),
      );
      await Deno.chmod(`${tree}/${name}.mjs`, 0o755);
    }
  });
}

function describe(name: string, description: string) {
  const { version, license } = config;
  return { name, version, license, description };
}

async function pack(
  manifest: { readonly name: string },
  folder: string,
  fill: (tree: string) => Promise<void>,
): Promise<string> {
  const tree = await Deno.makeTempDir();
  try {
    await fill(tree);
    await Deno.writeTextFile(
      `${tree}/package.json`,
      JSON.stringify(manifest, undefined, 2),
    );
    const { success, stdout, stderr } = await new Deno.Command("npm", {
      args: ["pack", "--json", "--pack-destination", folder],
      cwd: tree,
    }).output();
    if (!success) {
      throw new Error(
        `Cannot pack "${manifest.name}": ${new TextDecoder().decode(stderr)}`,
      );
    }
    return findFile(JSON.parse(new TextDecoder().decode(stdout)));
  } finally {
    await Deno.remove(tree, { recursive: true });
  }
}

/** npm 12 lists packages by name, earlier ones in an array. */
function findFile(packed: Record<string, { filename: string }>): string {
  const [first] = Object.values(packed);
  if (first === undefined) throw new Error("Cannot read what npm packed");
  return first.filename;
}
