import { isJsonObject, parseJson, stringMember } from "../../../base/json.ts";
import type { ThinkingPart } from "../conversation/conversation.ts";

const PREFIX = "gw1.";

/** Seals reasoning in a text that clients send back as it is: they may change a summary, but its signature covers every letter. */
export function sealReasoning(part: ThinkingPart): string {
  const bytes = new TextEncoder().encode(JSON.stringify(part));
  return PREFIX + bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Opens a text that `sealReasoning` has made; `undefined` for others. */
export function openReasoning(
  text: string | undefined,
): ThinkingPart | undefined {
  if (text?.startsWith(PREFIX) !== true) return undefined;
  const part = parseJson(decode(text.slice(PREFIX.length)));
  if (!isJsonObject(part)) return undefined;
  return {
    type: "thinking",
    text: stringMember(part, "text") ?? "",
    signature: stringMember(part, "signature") ?? "",
    isRedacted: part["isRedacted"] === true,
  };
}

function decode(text: string): string {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    return new TextDecoder().decode(bytes);
  } catch {
    return "";
  }
}
