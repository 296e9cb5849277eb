import type { JsonObject } from "../../../base/json.ts";
import type {
  CacheMark,
  ContentPart,
  DocumentPart,
  ImagePart,
  Part,
} from "../conversation/conversation.ts";
import { type Losses, noCounterpart } from "../conversation/losses.ts";
import { isOfOpenAi } from "../conversation/openai_reasoning.ts";
import { documentFormat } from "./media_types.ts";

/** Takes the place of a text without a letter, which Bedrock rejects. */
const EMPTY = "(empty)";

/** State of writing one request. */
export interface Writing {
  readonly losses: Losses;
  readonly caches: boolean;
  documents: number;
}

/** Writes a mark, which comes after what it covers. */
export function writeMark(
  cache: CacheMark | undefined,
  caches: boolean,
): readonly JsonObject[] {
  if (cache === undefined || !caches) return [];
  const { ttl } = cache;
  return [{ cachePoint: { type: "default", ...(ttl && { ttl }) } }];
}

/** Writes the content of a turn. @throws {UntranslatableError} */
export function writeContents(
  parts: readonly Part[],
  writing: Writing,
): readonly JsonObject[] {
  return withText(parts.flatMap((part) => writePart(part, writing)), parts);
}

/** Adds a text where there is a document: Bedrock wants one beside it. */
function withText(
  content: readonly JsonObject[],
  parts: readonly Part[],
): readonly JsonObject[] {
  const needsText = parts.some(({ type }) => type === "document") &&
    !parts.some(({ type }) => type === "text");
  return needsText ? [...content, { text: EMPTY }] : content;
}

function writePart(part: Part, writing: Writing): readonly JsonObject[] {
  if (part.type === "thinking") {
    const { text, signature, isRedacted } = part;
    if (isRedacted) {
      return [{ reasoningContent: { redactedContent: signature } }];
    }
    if (signature !== "" && !isOfOpenAi(signature)) {
      return [{ reasoningContent: { reasoningText: { text, signature } } }];
    }
    writing.losses.note("reasoning of earlier turns");
    return [];
  }
  return [
    writeContent(part, writing),
    ...writeMark(part.cache, writing.caches),
  ];
}

function writeContent(
  part: Exclude<Part, { type: "thinking" }>,
  writing: Writing,
): JsonObject {
  switch (part.type) {
    case "text":
      return { text: part.text };
    case "image":
      return writeImage(part);
    case "document":
      return writeDocument(part, writing);
    case "toolCall":
      return {
        toolUse: { toolUseId: part.id, name: part.name, input: part.input },
      };
    case "toolResult":
      return {
        toolResult: {
          toolUseId: part.id,
          content: writeResult(part.content, writing),
          ...(part.isError && { status: "error" }),
        },
      };
  }
}

function writeResult(
  content: readonly ContentPart[],
  writing: Writing,
): readonly JsonObject[] {
  const written = content.filter((part) =>
    part.type !== "text" || part.text.trim() !== ""
  ).map((part) => writeContent(part, writing));
  return written.length > 0 ? written : [{ text: EMPTY }];
}

function writeImage({ source }: ImagePart): JsonObject {
  if ("url" in source) throw noCounterpart("image_url that is no data: URL");
  const format = source.mediaType.replace(/^image\//, "").replace(
    "jpg",
    "jpeg",
  );
  return { image: { format, source: { bytes: source.data } } };
}

function writeDocument(
  { source, name = "" }: DocumentPart,
  writing: Writing,
): JsonObject {
  if ("url" in source) throw noCounterpart("a file that is at a URL");
  const number = ++writing.documents;
  const safe = name.replace(/\.\w+$/, "").replace(/[^A-Za-z0-9 ()[\]-]/g, " ")
    .replace(/ +/g, " ").trim().slice(0, 180);
  return {
    document: {
      format: documentFormat(source.mediaType),
      // Two with the same name are rejected.
      name: `${safe || "document"} ${number}`,
      source: { bytes: source.data },
    },
  };
}
