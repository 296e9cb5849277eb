import { Buffer } from "node:buffer";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

/** A request body that some server may read in another way than others, and what its headers say of it. */
export interface BodyVariant {
  /** Such as `charset utf-7 / escaped name twice`. */
  readonly title: string;
  /** Header lines, each with CRLF. */
  readonly headers: string;
  readonly body: Uint8Array;
}

/** The texts that a variant is made of: a harmless name and one that it tries to hide. */
export interface HiddenName {
  /** JSON with the harmless name, such as `{"model":"echo"}`. */
  readonly text: string;
  /** Name of the member that names the tool or model, and of an object around it, if any. */
  readonly member: string;
  readonly around?: string;
  readonly shown: string;
  readonly hidden: string;
}

/** Makes every variant: bodies with the plain header, and the tricky bodies with each header that may change their meaning. */
export function bodyVariants(name: HiddenName): readonly BodyVariant[] {
  const bodies = Object.entries(bodiesOf(name));
  const encodings = Object.entries(encodingsOf(name));
  const plain = Object.entries(headers).slice(0, 2);
  const pairs = [
    ...bodies.flatMap((body) => plain.map((header) => [header, body] as const)),
    ...encodings.flatMap((body) =>
      Object.entries(headers).map((header) => [header, body] as const)
    ),
  ];
  return pairs.map(([[header, lines], [what, body]]) => ({
    title: `${header} / ${what}`,
    headers: lines,
    body: typeof body === "string" ? Buffer.from(body) : body,
  }));
}

const json = "content-type: application/json";

const headers: Readonly<Record<string, string>> = {
  json: `${json}\r\n`,
  "no type": "",
  "charset utf-8": `${json}; charset=UTF-8\r\n`,
  "charset in quotes": `${json};charset="utf-8"\r\n`,
  "charset utf-7": `${json}; charset=utf-7\r\n`,
  "charset utf-7 in quotes": `${json}; charset="utf-7"\r\n`,
  "charset utf-16": `${json}; charset=utf-16\r\n`,
  "charset utf-16le": `${json}; charset=utf-16le\r\n`,
  "charset utf-16be": `${json}; charset=utf-16be\r\n`,
  "charset utf-32": `${json}; charset=utf-32\r\n`,
  "charset utf-8-sig": `${json}; charset=utf-8-sig\r\n`,
  "charset latin1": `${json}; charset=latin1\r\n`,
  "charset shift_jis": `${json}; charset=shift_jis\r\n`,
  "two charsets": `${json}; charset=utf-8; charset=utf-7\r\n`,
  "two charsets, the other way round":
    `${json}; charset=utf-7; charset=utf-8\r\n`,
  "extended charset": `${json}; charset*=us-ascii''utf-7\r\n`,
  "two types": `${json}\r\n${json}; charset=utf-7\r\n`,
  "two types, the other way round":
    `${json}; charset=utf-7\r\n${json}; charset=utf-8\r\n`,
  "types in a list": `${json}, application/json; charset=utf-7\r\n`,
  "malformed type": `${json}; charset =utf-7\r\n`,
  text: "content-type: text/plain\r\n",
  form: "content-type: application/x-www-form-urlencoded\r\n",
  gzip: `${json}\r\ncontent-encoding: gzip\r\n`,
  deflate: `${json}\r\ncontent-encoding: deflate\r\n`,
  br: `${json}\r\ncontent-encoding: br\r\n`,
  identity: `${json}\r\ncontent-encoding: identity\r\n`,
  "unknown coding": `${json}\r\ncontent-encoding: x-unknown\r\n`,
};

/** Bodies whose meaning depends on headers. */
function encodingsOf({ text, member, shown, hidden }: HiddenName) {
  const other = text.replace(shown, hidden);
  const extended = (piece: string) => text.replace(/\}$/, `,${piece}}`);
  const inUtf7 = text.replace(
    `"${shown}"`,
    `"${shown}","_":"+ACI-,+ACI-${member}+ACI-:+ACI-${hidden}"`,
  );
  const utf16 = Buffer.from(other, "utf16le");
  return {
    plain: text,
    "hidden in UTF-7": inUtf7,
    "hidden at the end in UTF-7": extended(
      `"_":"+ACI-,+ACI-${member}+ACI-:+ACI-${hidden}"`,
    ),
    "hidden in Shift JIS": Buffer.from(
      text.replace(
        `"${shown}"`,
        `"${shown}","_":"\u0083\\",\\"${member}\\":\\"${hidden}"`,
      ),
      "latin1",
    ),
    "UTF-16": utf16,
    "UTF-16 with a mark": Buffer.from(`\ufeff${other}`, "utf16le"),
    "big-endian UTF-16": Buffer.from(utf16).swap16(),
    "UTF-8 with a mark": `\ufeff${text}`,
    gzip: gzipSync(other),
    deflate: deflateSync(other),
    br: brotliCompressSync(other),
  };
}

/** Bodies in which servers may find different names whatever the headers say. */
function bodiesOf({ text, member, around, shown, hidden }: HiddenName) {
  const pair = `"${member}":"${shown}"`;
  const other = `"${member}":"${hidden}"`;
  const replaced = (by: string) => text.replace(pair, by);
  const escaped = member.replace(
    /^./,
    (first) => `\\u00${first.charCodeAt(0).toString(16)}`,
  );
  const names = {
    "an escape": escaped,
    "another case": member.replace(/^./, (first) => first.toUpperCase()),
    capitals: member.toUpperCase(),
    "a NUL": `${member}\\u0000`,
    "half a pair": `${member}\\ud800`,
    "a blank": ` ${member}`,
    "a zero-width blank": `${member}\u200b`,
  };
  const bodies: Record<string, string | Uint8Array> = {
    "twice": replaced(`${pair},${other}`),
    "twice, the other way round": replaced(`${other},${pair}`),
    "hidden name": replaced(other),
    "escaped value": text.replace(shown, escapeAll(shown)),
    "no name": replaced(`"_":1`),
    "name of null": replaced(`"${member}":null`),
    "name of a list": replaced(`"${member}":["${hidden}"]`),
    "name with half a pair": replaced(`"${member}":"${shown}\\ud800"`),
    "name with a NUL": replaced(`"${member}":"${shown}\\u0000"`),
    "name beyond ASCII": text.replace(shown, "\u00e9ch\u00f6"),
    "prototype": replaced(`${pair},"__proto__":{${other}}`),
    "constructor": replaced(`${pair},"constructor":{${other}}`),
    "a comment": replaced(`${pair}/*,${other}*/`),
    "a comment to the end": text.replace(/\}$/, `}//`),
    "a list": `[${text}]`,
    "a list of two": `[${text},${replaced(other)}]`,
    "another document": `${text}${replaced(other)}`,
    "another line": `${text}\n${replaced(other)}\n`,
    "a NUL at the end": `${text}\0${replaced(other)}`,
    "another document first": `${replaced(other)} ${text}`,
    "NaN": replaced(`${pair},"_":NaN`),
    "Infinity": replaced(`${pair},"_":-Infinity`),
    "hexadecimal": replaced(`${pair},"_":0x1`),
    "a number that is too large": replaced(`${pair},"_":1e999`),
    "single quotes": replaced(`${pair},'${member}':'${hidden}'`),
    "no quotes": replaced(`${pair},${member}:"${hidden}"`),
    "a comma too many": replaced(`${pair},`),
    "a line break in a string": replaced(`${pair},"_":"\n"`),
    "an escaped line break": replaced(`${pair},"_":"\\\n"`),
    "an unknown escape": replaced(`${pair},"_":"\\x22"`),
    "bytes that are no UTF-8": Buffer.from(
      replaced(`${pair},"_":"\xff\xc0\xa2"`),
      "latin1",
    ),
    "an overlong quote": Buffer.from(
      replaced(`${pair},"_":"\xc0\xa2,${other},"`),
      "latin1",
    ),
    "half a character before a quote": Buffer.from(
      replaced(`${pair},"_":"\xe9",${other},"`),
      "latin1",
    ),
    "deep lists": replaced(
      `${pair},"_":${"[".repeat(600)}${"]".repeat(600)}`,
    ),
    "many members": replaced(
      `${pair}${Array.from({ length: 2000 }, (_, i) => `,"${i}":0`).join("")}`,
    ),
    "blanks": `\n\t ${replaced(`\r\n ${pair.replace(":", " : ")} `)} \n`,
    "an ending that is missing": text.slice(0, -1),
    "a form": `${text.slice(0, -1)},"_":"&${member}=${hidden}&"}`,
    nothing: "",
  };
  for (const [what, spelled] of Object.entries(names)) {
    const again = `"${spelled}":"${hidden}"`;
    bodies[`again with ${what}`] = replaced(`${pair},${again}`);
    bodies[`first with ${what}`] = replaced(`${again},${pair}`);
    bodies[`only with ${what}`] = replaced(again);
  }
  if (around === undefined) return bodies;
  const object = `"${around}":{${other}}`;
  const capital = around.replace(/^./, (first) => first.toUpperCase());
  bodies["the object twice"] = text.replace(/\}$/, `,${object}}`);
  bodies["the object in another case"] = text.replace(
    /\}$/,
    `,${object.replace(around, capital)}}`,
  );
  bodies["the object as a list"] = text.replace(
    new RegExp(`"${around}":\\{(.*)\\}\\}$`),
    `"${around}":[{$1}]}`,
  );
  return bodies;
}

function escapeAll(text: string): string {
  return [...text].map((character) =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  ).join("");
}
