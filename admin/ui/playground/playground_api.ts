import { describeError } from "../../../src/base/errors.ts";
import { isJsonObject, objectsAt } from "../../../src/base/json.ts";
import type { DataPlane } from "../../../src/dataplane/data_plane.ts";
import type { DataPlaneDescription } from "../../../src/dataplane/calls/descriptions.ts";
import { json, respond, text } from "../../http/admin_responses.ts";
import { InvalidParameter } from "../../http/query_parameters.ts";
import { readJsonBody, textMember } from "../../http/request_body.ts";
import type { Handler } from "../../http/router.ts";
import {
  frame,
  type PlaygroundRequest,
  readPlaygroundRequest,
  type RelayedResponse,
} from "./relayed.ts";

/** Limit of requests of the playground at a time. */
const MAX_REQUESTS = 16;

/** Handlers of the page that sends requests and evaluates expressions. */
export interface PlaygroundHandlers {
  readonly send: Handler;
  readonly evaluate: Handler;
}

/** Creates the handlers. Requests go only to listeners of this gateway, and to endpoints of the identity providers of its configuration. */
export function playgroundHandlers(dataPlane: DataPlane): PlaygroundHandlers {
  let running = 0;
  return {
    send: async (request) => {
      const wanted = await readPlaygroundRequest(request);
      if (running >= MAX_REQUESTS) {
        return text(429, `more than ${MAX_REQUESTS} requests at a time`);
      }
      const leaving = new AbortController();
      running++;
      const end = () => {
        leaving.abort();
        running--;
      };
      try {
        const response = await relay(dataPlane, wanted, leaving.signal);
        if (response !== undefined) return stream(response, end);
        end();
        return text(
          403,
          "forbidden: expected the port of a listener of this gateway, or an endpoint of an identity provider of its configuration",
        );
      } catch (error) {
        end();
        return text(502, `no response: ${describeError(error)}`);
      }
    },
    evaluate: async (request) => {
      const given = await readJsonBody(request);
      const { variables } = given;
      if (!isJsonObject(variables)) {
        throw new InvalidParameter(
          'invalid body: expected an object "variables"',
        );
      }
      const { evaluateParts } = await import(
        "../../../src/policy/cel/evaluate_parts.ts"
      );
      return json(evaluateParts(textMember(given, "expression"), variables));
    },
  };
}

async function relay(
  dataPlane: DataPlane,
  wanted: PlaygroundRequest,
  signal: AbortSignal,
): Promise<RelayedResponse | undefined> {
  if (wanted.port === undefined) {
    const { sendToProvider } = await import("./provider_relay.ts");
    const description = await dataPlane.call("describe");
    return await sendToProvider(wanted, issuersOf(description), signal);
  }
  const addresses = await dataPlane.call("addresses");
  const address = addresses.find(({ configuredPort }) =>
    configuredPort === wanted.port
  );
  if (address === undefined) return undefined;
  const { sendToListener } = await import("./listener_relay.ts");
  return await sendToListener(address, wanted, signal);
}

/** Lists the issuers whose tokens listeners and routes accept. */
function issuersOf({ listeners, routes }: DataPlaneDescription): string[] {
  const issuers = [...listeners, ...routes]
    .flatMap((each) => objectsAt(each, "policies"))
    .filter(({ kind }) => kind === "jwtAuthentication")
    .flatMap(({ config }) => objectsAt(config, "providers"))
    .map(({ issuer }) => issuer)
    .filter((issuer) => typeof issuer === "string");
  return [...new Set(issuers)];
}

/** Sends a response to the page; no browser takes its content for a page. */
function stream(response: RelayedResponse, end: () => void): Response {
  const body = ReadableStream.from(frame(response)).pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({ flush: end, cancel: end }),
  );
  return respond(200, "application/octet-stream", body);
}
