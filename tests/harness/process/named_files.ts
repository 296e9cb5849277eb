import { createAuthority } from "../login/certificates.ts";

/** Creates the certificates, keys and lock files that a configuration names, in its directory. */
export async function writeFilesOf(
  config: string,
  directory: string,
): Promise<void> {
  for (const [, path] of config.matchAll(/\block: \{ file: ([\w.]+) \}/g)) {
    await writeFile(`${directory}/${path}`, '{"servers": {}}');
  }
  const certificates = [...config.matchAll(/\b([\w/.-]+)\.(?:crt|pem)\b/g)];
  if (certificates.length > 0) {
    const authority = await createAuthority();
    const { cert, key } = await authority.issueServer(["example.com"]);
    for (const [path = "", stem = ""] of certificates) {
      await writeFile(`${directory}/${path}`, cert);
      await writeFile(`${directory}/${stem}.key`, key);
    }
  }
}

async function writeFile(path: string, text: string): Promise<void> {
  await Deno.mkdir(path.replace(/\/[^/]*$/, ""), { recursive: true });
  await Deno.writeTextFile(path, text);
}

/** Returns a value for each `${NAME}` without a default, and each `fromEnv: NAME`. */
export function environmentOf(config: string): Record<string, string> {
  const names = [
    ...config.matchAll(/(?:\$\{(?=[A-Z_]+\})|fromEnv: )([A-Z_]+)/g),
  ].map((
    [, name = ""],
  ) => name);
  return Object.fromEntries(
    names.map((
      name,
    ) => [name, `value-of-${name.toLowerCase()}`.padEnd(40, "-")]),
  );
}
