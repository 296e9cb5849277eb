import { RED_PIXEL, type ResourceContents } from "./content.ts";

/** A resource with a fixed address. */
export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType: string;
}

/** The resources that can be listed. */
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
    description:
      "A text to subscribe to; call the tool touch_resource to be told of a change",
    mimeType: "text/plain",
  },
];

/** The resources whose address has a hole. */
export const resourceTemplates = [
  {
    uriTemplate: "test://template/{id}/data",
    name: "template",
    description: "A JSON document for any id",
    mimeType: "application/json",
  },
] as const;

const templateUri = /^test:\/\/template\/([^/]+)\/data$/;

/** `undefined` when there is no such resource. */
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
