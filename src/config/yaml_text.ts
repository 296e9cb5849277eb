/** The value of an unquoted scalar by the core schema of YAML 1.2: `80` is a number, `yes` a text. */
export function resolvePlainScalar(
  text: string,
): string | number | boolean | null {
  if (/^(?:~|null|Null|NULL)?$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  const isNumber = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
    .test(text);
  return isNumber ? Number(text) : text;
}

/** What is wrong with the syntax, in words that say what to do where the parser's do not. */
export function syntaxMessage(
  code: string,
  message: string,
  excerpt: string,
): string {
  switch (code) {
    case "DUPLICATE_KEY": {
      const key = /^[^\s:]*/.exec(excerpt)?.[0] ?? "";
      return key === ""
        ? "duplicate key"
        : `duplicate key ${JSON.stringify(key)}`;
    }
    case "TAB_AS_INDENT":
      return "tab used as indentation; YAML allows only spaces";
    case "TAG_RESOLVE_FAILED":
      return `unknown YAML tag: ${message.replace(/^Unresolved tag: /, "")}`;
    default:
      return `invalid YAML: ${message.charAt(0).toLowerCase()}${
        message.slice(1)
      }`;
  }
}
