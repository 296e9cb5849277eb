import type { Resource, ResourceContents } from "../../../cli/dev/mcp/offer.ts";
import { RED_PIXEL } from "./conformance_content.ts";

/** Resources that the conformance scenarios list and read. */
export const resources: readonly Resource[] = [
  {
    uri: "test://static-text",
    name: "static-text",
    description: "A text that never changes",
    mimeType: "text/plain",
  },
  {
    uri: "test://static-binary",
    name: "static-binary",
    description: "An image that never changes",
    mimeType: "image/png",
  },
  {
    uri: "test://watched-resource",
    name: "watched-resource",
    description: "A text to subscribe to",
    mimeType: "text/plain",
  },
];

/** Resources whose URI has a variable part. */
export const resourceTemplates = [
  {
    uriTemplate: "test://template/{id}/data",
    name: "template",
    description: "A JSON document for any id",
    mimeType: "application/json",
  },
] as const;

const templateUri = /^test:\/\/template\/([^/]+)\/data$/;

/** Returns `undefined` when there is no such resource. */
export function readResource(uri: string): ResourceContents | undefined {
  switch (uri) {
    case "test://static-text":
      return plainText(uri, "This is the content of the static text resource.");
    case "test://static-binary":
      return { uri, mimeType: "image/png", blob: RED_PIXEL };
    case "test://watched-resource":
      return plainText(uri, "Watched resource content");
  }
  const id = templateUri.exec(uri)?.[1];
  if (id === undefined) return undefined;
  const document = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { uri, mimeType: "application/json", text: JSON.stringify(document) };
}

function plainText(uri: string, text: string): ResourceContents {
  return { uri, mimeType: "text/plain", text };
}
