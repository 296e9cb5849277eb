import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readSaw } from "./body_servers.ts";
import {
  type BodyVariant,
  bodyVariants,
  type HiddenName,
} from "./body_variants.ts";
import { startTestGateway } from "../gateway/gateway.ts";
import { RawClient } from "./raw_client.ts";
import { fc } from "../parsers/properties.ts";

/** A server to ask, and what it acts on. */
export interface AskedServer {
  readonly port: number;
  readonly path: string;
  /** The field of an expression that is what the server acts on, such as `mcp.tool.name`. */
  readonly field: "mcp.tool.name" | "llm.requestModel";
}

const hiddenTool: HiddenName = {
  text:
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1}}}',
  member: "name",
  around: "params",
  shown: "echo",
  hidden: "drop_table",
};

const hiddenModel: HiddenName = {
  text: '{"model":"echo","messages":[]}',
  member: "model",
  shown: "echo",
  hidden: "drop_table",
};

/** Numbers and other values of an argument that languages read in their own way. */
const argumentValues = [
  "1",
  "1.0",
  "-0",
  "0.1",
  "1e2",
  "1E400",
  "-1e-400",
  "9007199254740993",
  "9223372036854775808",
  "0.30000000000000000004",
  "12345678901234567890.5",
  "true",
  "null",
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\u0000"',
  '"é"',
  "[1,2]",
  '{"a":1,"a":2}',
  '{"a":1,"A":2}',
  '{"b":{"c":1,"\\u0063":2}}',
  "01",
  "1.",
  ".5",
  "+1",
  "NaN",
  "Infinity",
  "nul",
];

/** Counts of compared bodies, and of those that the server acted on. */
export interface Comparison {
  readonly compared: number;
  readonly agreed: number;
}

/**
 * Sends generated bodies through a gateway whose rule reads them, and asserts that the server saw the tool or model that the gateway
 * saw, or that the gateway rejected the request.
 */
export async function compareBodies(
  { port, path, field }: AskedServer,
): Promise<Comparison> {
  const isTool = field === "mcp.tool.name";
  const argument = "mcp.tool.arguments.n";
  await using gateway = await startTestGateway({
    routes: [{
      policies: {
        authorization: {
          policy: { matchExpressions: [`has(${field}) || !has(${field})`] },
        },
        transformation: {
          response: {
            set: [
              { name: "x-saw", value: `base64.encode(toJson(${field}))` },
              ...(isTool
                ? [{
                  name: "x-argument",
                  value: `base64.encode(toJson(${argument}))`,
                }]
                : []),
            ],
          },
        },
      },
      backends: [{ host: `127.0.0.1:${port}` }],
    }],
  });
  let agreed = 0;
  const variants = [
    ...bodyVariants(isTool ? hiddenTool : hiddenModel),
    ...(isTool ? argumentVariants() : []),
    ...mutatedVariants(isTool ? hiddenTool : hiddenModel),
  ];
  for (const { title, headers, body } of variants) {
    using client = await RawClient.connect(gateway.port);
    await client.send(
      `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n` +
        "accept: application/json, text/event-stream\r\n" +
        `${headers}content-length: ${body.length}\r\n\r\n` +
        Buffer.from(body).toString("latin1"),
    );
    const response = await client.receive("POST");
    assert.ok(response, title);
    const saw = readSaw(response.body);
    if (saw === undefined) continue;
    const claim = (name: string): unknown => {
      const value = response.headers.get(name);
      return value === undefined
        ? undefined
        : JSON.parse(Buffer.from(value, "base64").toString());
    };
    const claims = [claim("x-saw"), isTool ? claim("x-argument") : null];
    // In JSON, so that 0 is -0.
    assert.equal(JSON.stringify(claims), JSON.stringify(saw), title);
    agreed++;
  }
  return { compared: variants.length, agreed };
}

function argumentVariants(): BodyVariant[] {
  return argumentValues.map((value) => ({
    title: `argument ${value}`,
    headers: "content-type: application/json\r\n",
    body: Buffer.from(hiddenTool.text.replace('"n":1', `"n":${value}`)),
  }));
}

/** Bodies with a few bytes changed, the same ones in every run. */
function mutatedVariants({ text, member, hidden }: HiddenName): BodyVariant[] {
  const pieces = [
    "",
    '"',
    "\\",
    ",",
    "{",
    "}",
    "[",
    "]",
    ":",
    "0",
    "\0",
    "\xff",
    "é",
    " ",
    `,"${member}":"${hidden}"`,
    `"${member}":"${hidden}",`,
    "\\u0022",
    "+ACI-",
  ];
  const change = fc.record({
    at: fc.nat(text.length),
    length: fc.nat(2),
    piece: fc.constantFrom(...pieces),
  });
  const changes = fc.sample(fc.array(change, { minLength: 1, maxLength: 3 }), {
    seed: 20260101,
    numRuns: 300,
  });
  return changes.map((all, index) => {
    const body = all.reduce(
      (changed, { at, length, piece }) =>
        changed.slice(0, at) + piece + changed.slice(at + length),
      text,
    );
    return {
      title: `mutation ${index}: ${body}`,
      headers: "content-type: application/json\r\n",
      body: Buffer.from(body, index % 2 === 0 ? "utf8" : "latin1"),
    };
  });
}
