import type {
  DocumentPart,
  ImagePart,
  MediaSource,
} from "../conversation/conversation.ts";
import type { FieldReader } from "../conversation/field_reader.ts";
import { noCounterpart } from "../conversation/losses.ts";

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+);base64,/;

/** Reads a URL; one with the data in it becomes data. */
function readMediaUrl(url: string): MediaSource {
  const [start, mediaType] = dataUrl.exec(url.slice(0, 256)) ?? [];
  return start === undefined || mediaType === undefined
    ? { url }
    : { mediaType, data: url.slice(start.length) };
}

/** Reads an image of OpenAI, whose `detail` advises the provider. */
export function readImageUrl(holder: FieldReader, name: string): ImagePart {
  holder.hints({ detail: ["auto"] });
  const url = holder.required(name, holder.text(name));
  return { type: "image", source: readMediaUrl(url) };
}

/**
 * Reads a file of OpenAI: its data, or where it is.
 * @throws {UntranslatableError} If it is one that was uploaded.
 */
export function readFile(holder: FieldReader): DocumentPart {
  if (holder.value("file_id") !== undefined) {
    throw noCounterpart(holder.at("file_id"));
  }
  const name = holder.text("filename");
  const text = holder.text("file_data") ?? holder.text("file_url");
  const read = readMediaUrl(holder.required("file_data", text));
  const isPlain = "url" in read && !/^https?:/.test(read.url);
  return {
    type: "document",
    name,
    source: isPlain && "url" in read
      ? { mediaType: "application/pdf", data: read.url }
      : read,
  };
}
