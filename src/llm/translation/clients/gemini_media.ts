import type {
  DocumentPart,
  ImagePart,
  MediaSource,
} from "../conversation/conversation.ts";
import type { FieldReader } from "../conversation/field_reader.ts";
import { noCounterpart } from "../conversation/losses.ts";

/** Reads `inlineData` of Gemini. @throws {UntranslatableError} If it is sound or video. */
export function readInlineData(inline: FieldReader): ImagePart | DocumentPart {
  const mediaType = inline.required("mimeType", inline.text("mimeType"));
  const data = toStandard(inline.required("data", inline.text("data")));
  return readMedia(inline, mediaType, { mediaType, data });
}

/** Reads `fileData` of Gemini. @throws {UntranslatableError} If it was uploaded, or is sound or video. */
export function readFileData(file: FieldReader): ImagePart | DocumentPart {
  const url = file.required("fileUri", file.text("fileUri"));
  if (!/^https?:/.test(url) || /\/v1beta\/files\//.test(url)) {
    throw noCounterpart(file.at("fileUri"));
  }
  return readMedia(file, file.text("mimeType") ?? "", { url });
}

/** Converts Base64 of the alphabet for URLs, which Google's SDK for Python sends, and other providers reject. */
function toStandard(base64: string): string {
  return base64.replaceAll("-", "+").replaceAll("_", "/");
}

function readMedia(
  holder: FieldReader,
  mediaType: string,
  source: MediaSource,
): ImagePart | DocumentPart {
  if (mediaType.startsWith("image/")) return { type: "image", source };
  if (/^(?:audio|video)\//.test(mediaType)) {
    throw noCounterpart(`${holder.at("mimeType")}: ${mediaType.slice(0, 64)}`);
  }
  return { type: "document", name: holder.text("displayName"), source };
}
