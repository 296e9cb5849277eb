import type { SourceNode } from "../parts/source_node.ts";

/** Returns a value with its secret as a reference to a variable, whose name has the given words. */
export type Hide = (
  field: string,
  words: string,
  value: string,
  source: SourceNode,
) => string;

/** Returns the `stdio` of a server with a command. */
export function importProgram(source: SourceNode, hide: Hide): object {
  const command = withoutSource(source.get("command")?.text() ?? "");
  const cwd = source.get("cwd")?.text();
  const args = importArguments(source.get("args"), hide);
  const env = importEnvironment(source.get("env"), hide);
  return {
    command,
    ...(args.length > 0 && { args }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(cwd !== undefined && { cwd: withoutSource(cwd) }),
  };
}

/** Takes the secrets of options out: `--api-key=a` and `--api-key a`. */
function importArguments(
  source: SourceNode | undefined,
  hide: Hide,
): readonly string[] {
  let option: string | undefined;
  return (source?.items() ?? []).flatMap((item) => {
    const text = item.text();
    if (text === undefined) {
      item.reject("args: expected a string");
      return [];
    }
    const plain = withoutSource(text);
    const [, name, value] = /^-+([^=]+)=(.*)$/s.exec(plain) ?? [];
    const before = option;
    option = /^-+([^=]+)$/.exec(plain)?.[1];
    if (before !== undefined && option === undefined && isSecretName(before)) {
      return [hide(`args: ${before}`, before, plain, item)];
    }
    return name === undefined || value === undefined || !isSecretName(name)
      ? [plain]
      : [
        plain.slice(0, -value.length || undefined) +
        hide(`args: ${name}`, name, value, item),
      ];
  });
}

/** Any variable may have a secret. */
function importEnvironment(
  source: SourceNode | undefined,
  hide: Hide,
): Readonly<Record<string, string>> {
  const entries = (source?.members() ?? []).flatMap(([name, value]) => {
    const text = value.text();
    const isValid = text !== undefined && /^[A-Za-z_]\w*$/.test(name) &&
      name !== "__proto__";
    if (!isValid) {
      value.reject(`env.${name}: expected a variable with a string`);
      return [];
    }
    const plain = withoutSource(text);
    return [[name, hide(`env.${name}`, name, plain, value)] as const];
  });
  return Object.fromEntries(entries);
}

/** Reports whether a parameter of this name holds a secret, most likely. */
export function isSecretName(name: string): boolean {
  return /key|token|secret|auth|pass|sig|cred/i.test(name);
}

/** Writes `${env:NAME}` and `${input:name}` of clients as `${NAME}`. */
export function withoutSource(text: string): string {
  return text.replaceAll(
    /\$\{(?:env|input):([A-Za-z_][\w-]*)\}/g,
    (_, name: string) => `\${${name.replaceAll("-", "_")}}`,
  );
}
