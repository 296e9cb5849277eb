/** Formats the line of a diagnostic with a caret below it; empty when the line cannot be shown. */
export function excerpt(
  { line, column }: { readonly line: number; readonly column: number },
  path: string,
  whole: string,
): string {
  // An unclosed quote may begin a secret, and its path is unknown.
  const isQuote = path === "" && /["']/.test(whole.charAt(column - 1));
  const text = isQuote ? whole.slice(0, column) : whole;
  if (text.trim() === "" || text.includes("-----")) return "";
  const isSecret = /\.rateLimit\b/.test(path)
    ? otherSecrets.test(text)
    : secretWords.test(withoutRuleWords(text, path)) || secretPath.test(path);
  const { shown, caret } = isSecret
    ? maskValues(text, column - 1)
    : { shown: text, caret: column - 1 };
  const start = Math.max(0, caret - 79);
  const gutter = String(line);
  const indent = shown.slice(start, caret).replace(/[^\t]/g, " ");
  return `  ${gutter} | ${shown.slice(start, start + 120)}\n  ${
    " ".repeat(gutter.length)
  } | ${indent}^\n`;
}

/** Fields of secrets, also those that are spelled wrongly, user information of URLs, and how keys of known services begin. */
const secretWords =
  /authorization|bearer|token|secret|password|\busers\b|keys?["']?\s*:|\bkeyHash\b|:\/{0,2}[^\s/?#]{0,256}@|\b(?:sk-|gh[opsu]_|xox[abp]-|AKIA|AIza|eyJ)/i;
/** In a rate limit, `tokens` is a number and `key` an expression. */
const otherSecrets =
  /authorization|bearer|token\b|secret|password|\busers\b|\bkeys\b|apiKey|:\/{0,2}[^\s/?#]{0,256}@/i;
/** Removes words from an authorization rule that look secret but are not: the policy's name and token claims. */
function withoutRuleWords(text: string, path: string): string {
  return /\.authorization\b/.test(path)
    ? text.replace(/\bauthorization\s*:\s*\{|\btoken\./g, "")
    : text;
}

const secretPath = /token|secret|password|\busers\b|keys?\b/i;

/** A quoted string, or a plain scalar between YAML indicators. */
const scalar =
  /"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?|\$\{[^}]*\}|(?!:(?:\s|$)|-\s)[^\s{}[\],"'#][^{}[\],"'#]*?(?=\s*[{}[\],"'#]|:?\s*$|:\s)/g;
const beforeKeys = ["", "{", ",", "-"];
const keyAfter = /^\s*:(?:\s|$)/;
const plainKey = /^["']?[\w.-]{1,63}["']?$/;
const harmlessKeys = new Set([
  ...["name", "type", "kind", "group", "hostname", "protocol", "namespace"],
  ...["mode", "fromEnv", "file", "provider", "model", "backend", "header"],
  ...["algorithm", "method", "team", "role", "tier"],
]);
const harmlessValue =
  /^["']?(?:[\w./~-]+\.(?:pem|crt|cer|key|json)|\$\{\w+\}|true|false|null|[-|>:]+)["']?$/;

/** Masks all potentially secret values in a line of YAML and adjusts the caret. */
function maskValues(
  text: string,
  caret: number,
): { readonly shown: string; readonly caret: number } {
  let shown = "";
  let end = 0;
  let moved = caret;
  let key = "";
  for (const { 0: found, index } of text.matchAll(scalar)) {
    // No regular expression scans the text before: the line may be a million characters long.
    const before = text.slice(0, index).trimEnd().at(-1) ?? "";
    const after = text.slice(index + found.length);
    if (
      beforeKeys.includes(before) && keyAfter.test(after) &&
      plainKey.test(found)
    ) {
      key = found.replace(/["']/g, "");
      continue;
    }
    if (isHarmless(key, found)) continue;
    shown += text.slice(end, index) + MASK;
    end = index + found.length;
    if (caret >= end) moved += MASK.length - found.length;
    else if (caret > index) moved += index - caret;
  }
  return { shown: shown + text.slice(end), caret: moved };
}

const MASK = "***";

function isHarmless(key: string, value: string): boolean {
  return harmlessKeys.has(key) || harmlessValue.test(value) ||
    (/^\d{1,5}$/.test(value) && !secretWords.test(`${key}:`));
}
