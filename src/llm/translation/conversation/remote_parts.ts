import type {
  ChatRequest,
  ContentPart,
  DocumentPart,
  ImagePart,
  MediaData,
  Part,
} from "./conversation.ts";
import { UntranslatableError } from "./losses.ts";

/** Media by their URLs. */
export type FetchedMedia = ReadonlyMap<string, MediaData>;

/** An image or a file. */
export type MediaPart = ImagePart | DocumentPart;

/** Returns the URLs of the images and files that a provider takes as bytes only, each once. */
export function remoteUrls(
  { turns }: ChatRequest,
  needsBytes: (part: MediaPart) => boolean,
): readonly string[] {
  const urls = new Set<string>();
  const add = (part: Part) => {
    const url = urlOfPart(part);
    if (url !== undefined && isMedia(part) && needsBytes(part)) urls.add(url);
  };
  for (const { parts } of turns) {
    for (const part of parts) {
      if (part.type === "toolResult") part.content.forEach(add);
      else add(part);
    }
  }
  return [...urls];
}

/** Returns a request with the content of media in place of their URLs. @throws {UntranslatableError} If a URL of an image has no image. */
export function withMedia(
  request: ChatRequest,
  media: FetchedMedia,
): ChatRequest {
  if (media.size === 0) return request;
  const turns = request.turns.map((turn) => ({
    ...turn,
    parts: turn.parts.map((part) =>
      part.type === "toolResult"
        ? { ...part, content: part.content.map((each) => fill(each, media)) }
        : fill(part, media)
    ),
  }));
  return { ...request, turns };
}

function fill<Filled extends Part | ContentPart>(
  part: Filled,
  media: FetchedMedia,
): Filled {
  const url = urlOfPart(part);
  const source = url === undefined ? undefined : media.get(url);
  if (source === undefined) return part;
  if (part.type === "image" && !source.mediaType.startsWith("image/")) {
    throw new UntranslatableError(
      `An image is at a URL that has ${source.mediaType}`,
    );
  }
  return { ...part, source };
}

function isMedia(part: Part): part is MediaPart {
  return part.type === "image" || part.type === "document";
}

function urlOfPart(part: Part): string | undefined {
  return isMedia(part) && "url" in part.source ? part.source.url : undefined;
}
