/** The parts of an operation that patterns select it by. */
export interface SelectedOperation {
  /** Name of the tool. */
  readonly name: string;
  readonly operationId: string | undefined;
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  readonly tags: readonly string[];
}

/**
 * Returns whether an operation is one of the tools.
 * @param include Patterns: `getPet*` of names, `GET /pets*` of methods and paths, `tag:pets`; `*` stands for anything. `undefined` for all.
 * @param exclude Patterns of operations that are not.
 */
export function isSelected(
  operation: SelectedOperation,
  include: readonly string[] | undefined,
  exclude: readonly string[] | undefined,
): boolean {
  const matches = (pattern: string) => matchesOperation(pattern, operation);
  return (include === undefined || include.some(matches)) &&
    !(exclude?.some(matches) ?? false);
}

function matchesOperation(
  pattern: string,
  { name, operationId, method, path, tags }: SelectedOperation,
): boolean {
  const [, tag] = /^tag:(.+)$/.exec(pattern) ?? [];
  if (tag !== undefined) return tags.some((each) => matchesGlob(tag, each));
  const [, verb, route] = /^([A-Z*]+) (\/.*)$/.exec(pattern) ?? [];
  if (verb !== undefined && route !== undefined) {
    return matchesGlob(verb, method) && matchesGlob(route, path);
  }
  return matchesGlob(pattern, name) ||
    operationId !== undefined && matchesGlob(pattern, operationId);
}

/** Reports whether a text matches a pattern in which `*` stands for anything, in linear time. */
function matchesGlob(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - last.length >= from && text.endsWith(last);
}
