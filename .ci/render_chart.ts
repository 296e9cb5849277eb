/** Renders the chart into plain manifests with Helm: `render_chart.ts HELM`. */
import { createHash } from "node:crypto";

const CHART = "deploy/helm/gateway";
const NAMESPACE = "gateway-system";
/** Manifests by their mode. */
export const manifests = {
  managed: "deploy/managed.yaml",
  shared: "deploy/shared.yaml",
} as const;

/** Returns the first line of manifests, with a hash of what is rendered: tests need no Helm to notice a change. */
export async function manifestHeader(): Promise<string> {
  const hash = createHash("sha256");
  for (const path of await listFiles(CHART)) {
    hash.update(`${path}\n`).update(await Deno.readFile(path));
  }
  return `# Rendered from ${CHART}, ${
    hash.digest("hex").slice(0, 16)
  }; run "make chart".`;
}

async function listFiles(folder: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    // Helm does not render them.
    if (["crds", "values.schema.json"].includes(entry.name)) continue;
    if (entry.isDirectory) paths.push(...await listFiles(path));
    else paths.push(path);
  }
  return paths.toSorted();
}

/** Renders the manifests of a mode. @throws {Error} With what Helm printed. */
export async function render(
  helm: string,
  mode: keyof typeof manifests,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(helm, {
    args: ["template", "gateway", CHART, "-n", NAMESPACE].concat([
      "--set",
      `mode=${mode}`,
    ]),
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (!success) throw new Error(`Cannot render ${CHART}: ${decode(stderr)}`);
  const namespace =
    `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${NAMESPACE} }\n`;
  return `${await manifestHeader()}\n${namespace}${decode(stdout)}`;
}

if (import.meta.main) {
  const [helm = "helm"] = Deno.args;
  await Deno.writeTextFile(manifests.managed, await render(helm, "managed"));
  await Deno.writeTextFile(manifests.shared, await render(helm, "shared"));
}
