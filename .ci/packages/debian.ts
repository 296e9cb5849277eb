import config from "../../deno.json" with { type: "json" };

/** Contents of a Debian package. */
export interface DebianInput {
  /** Path of the executable. */
  readonly executable: string;
  /** `amd64` or `arm64`. */
  readonly architecture: string;
  /** Texts of `deploy/packages` by name. */
  readonly texts: ReadonlyMap<string, string>;
  readonly homepage: string;
}

/** Files of the package: path, name in `deploy/packages`, mode. */
const files = [
  ["DEBIAN/postinst", "postinst", 0o755],
  ["DEBIAN/prerm", "prerm", 0o755],
  ["DEBIAN/postrm", "postrm", 0o755],
  ["etc/gateway/gateway.yaml", "gateway.yaml", 0o644],
  ["usr/lib/systemd/system/gateway.service", "gateway.service", 0o644],
] as const;

/** Writes a package for Debian and Ubuntu with `dpkg-deb`: executable, systemd unit and a first configuration. */
export async function writeDebianPackage(
  output: string,
  { executable, architecture, texts, homepage }: DebianInput,
): Promise<void> {
  const tree = await Deno.makeTempDir();
  try {
    // Its mode becomes that of `/`.
    await Deno.chmod(tree, 0o755);
    for (const [path, name, mode] of files) {
      await place(tree, path, texts.get(name) ?? "", mode);
    }
    await Deno.mkdir(`${tree}/usr/bin`, { recursive: true });
    await Deno.copyFile(executable, `${tree}/usr/bin/gateway`);
    await Deno.chmod(`${tree}/usr/bin/gateway`, 0o755);
    await Deno.symlink("gateway", `${tree}/usr/bin/gwctl`);
    await place(tree, "DEBIAN/conffiles", "/etc/gateway/gateway.yaml\n", 0o644);
    const { size } = await Deno.stat(executable);
    await place(
      tree,
      "DEBIAN/control",
      describe(architecture, homepage, size),
      0o644,
    );
    await build(tree, output);
  } finally {
    await Deno.remove(tree, { recursive: true });
  }
}

async function place(
  tree: string,
  path: string,
  text: string,
  mode: number,
): Promise<void> {
  const file = `${tree}/${path}`;
  await Deno.mkdir(file.replace(/\/[^/]*$/, ""), { recursive: true });
  await Deno.writeTextFile(file, text);
  await Deno.chmod(file, mode);
}

function describe(
  architecture: string,
  homepage: string,
  bytes: number,
): string {
  return `Package: gateway
Version: ${config.version}
Architecture: ${architecture}
Maintainer: The gateway's maintainers <${homepage}>
Homepage: ${homepage}
Section: net
Priority: optional
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: libc6 (>= 2.31), libgcc-s1
Recommends: curl
Description: gateway between AI agents, MCP servers and LLM providers
 It protects MCP servers with OAuth logins, keeps provider keys away from
 clients, limits requests and LLM tokens, and shows step by step why a request
 failed.
`;
}

async function build(tree: string, output: string): Promise<void> {
  // Tests do without compression, which takes most of the time.
  const compression = Deno.env.get("DEB_COMPRESSION") ?? "xz";
  const { success, stderr } = await new Deno.Command("dpkg-deb", {
    args: ["--root-owner-group", `-Z${compression}`, "--build", tree, output],
    stdout: "null",
  }).output();
  if (!success) {
    throw new Error(
      `Cannot build "${output}": ${new TextDecoder().decode(stderr)}`,
    );
  }
}
