import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { HeaderDecoder } from "../../../../src/http/http2/hpack/header_decoder.ts";
import { HeaderEncoder } from "../../../../src/http/http2/hpack/header_encoder.ts";
import { Http2ConnectionError } from "../../../../src/http/http2/frames/http2_error.ts";

const limits = { maxBytes: 65_536, maxFields: 200 };

function decode(decoder: HeaderDecoder, hex: string, most = limits) {
  const bytes = Buffer.from(hex.replaceAll(/\s/g, ""), "hex");
  return decoder.decode(bytes, 0, bytes.length, most);
}

function textOf(fields: readonly string[]): string {
  let text = "";
  for (let i = 0; i < fields.length; i += 2) {
    text += `${fields[i]}: ${fields[i + 1]}\n`;
  }
  return text;
}

const requests = [
  ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n",
  ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache\n",
  ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value\n",
];
const date = "Mon, 21 Oct 2013 20:13:21 GMT";
const location = "https://www.example.com";
const responses = [
  `:status: 302\ncache-control: private\ndate: ${date}\nlocation: ${location}\n`,
  `:status: 307\ncache-control: private\ndate: ${date}\nlocation: ${location}\n`,
  `:status: 200\ncache-control: private\ndate: ${
    date.replace("21 GMT", "22 GMT")
  }\nlocation: ${location}\ncontent-encoding: gzip\nset-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n`,
];

const examples = [
  {
    name: "C.3, requests without Huffman codes",
    blocks: [
      "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      "8286 84be 5808 6e6f 2d63 6163 6865",
      "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ],
    expected: requests,
  },
  {
    name: "C.4, requests with Huffman codes",
    blocks: [
      "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
      "8286 84be 5886 a8eb 1064 9cbf",
      "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ],
    expected: requests,
  },
  {
    name: "C.5, responses that evict each other from a table of 256 bytes",
    blocks: [
      `3fe1 01 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
       2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
      "4803 3330 37c1 c0bf",
      `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04
       677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b
       206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31`,
    ],
    expected: responses,
  },
  {
    name: "C.6, the same with Huffman codes",
    blocks: [
      `3fe1 01 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b
       ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
      "4883 640e ffc1 c0bf",
      `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7
       821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5
       b106 3d50 07`,
    ],
    expected: responses,
  },
];
for (const { name, blocks, expected } of examples) {
  Deno.test(`HeaderDecoder reads the examples of RFC 7541 ${name}`, () => {
    const decoder = new HeaderDecoder();

    const read = blocks.map((hex) => textOf(decode(decoder, hex).fields));

    assert.deepEqual(read, expected);
  });
}

const broken = [
  ["an index of 0", "80"],
  ["an index beyond the tables", "be"],
  ["a string that is cut short", "0003 61"],
  ["a field that is cut short", "40"],
  ["an integer that is too large", "ffff ffff ffff ff7f"],
  ["a table that is too large", "3fe2 1f"],
  ["a table size behind a field", "8220"],
  ["a code for the end of strings", "0084 ffff ffff 00"],
  ["padding of a whole byte", "0082 1fff ff00"],
  ["padding with zeros", "0081 1800"],
] as const;
for (const [name, hex] of broken) {
  Deno.test(`HeaderDecoder rejects ${name}`, () => {
    assert.throws(
      () => decode(new HeaderDecoder(), hex),
      (error) => error instanceof Http2ConnectionError && error.code === 9,
    );
  });
}

Deno.test("HeaderDecoder reports which blocks no message may have", () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["x-a", "b", true],
    ["X-a", "b", false],
    ["", "b", false],
    ["x a", "b", false],
    [":", "b", false],
    ["x", " b", false],
    ["x", "b\t", false],
    ["x", "a\r\nb", false],
    ["x", "a\0b", false],
    ["x", "é", true],
  ];
  for (const [name, value, expected] of cases) {
    const bytes = Buffer.from(
      `\0${String.fromCharCode(name.length)}${name}${
        String.fromCharCode(value.length)
      }${value}`,
      "latin1",
    );
    const { isValid } = new HeaderDecoder().decode(
      bytes,
      0,
      bytes.length,
      limits,
    );
    assert.equal(isValid, expected, JSON.stringify([name, value]));
  }
});

Deno.test("HeaderDecoder keeps the table in step across blocks that are too large", () => {
  const decoder = new HeaderDecoder();
  const least = { maxBytes: 40, maxFields: 1 };

  const large = decode(decoder, "8286 4001 6101 62", least);
  const next = decode(decoder, "be");

  assert.equal(large.isTooLarge, true);
  assert.equal(large.fields.length, 0);
  assert.equal(textOf(next.fields), "a: b\n");
});

Deno.test("HeaderDecoder reads what HeaderEncoder wrote, less what has no place in HTTP/2", () => {
  const name = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9-]{0,20}$/);
  const value = fc.stringMatching(/^[!-~\xa1-\xff]{0,300}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (pairs) => {
      const encoder = new HeaderEncoder();
      const decoder = new HeaderDecoder();
      const all = [...pairs, ["Connection", "x"], ["Cookie", "a=b"]] as const;
      for (let i = 0; i < 2; i++) {
        encoder.begin();
        encoder.pseudo(":status", "200");
        encoder.fields(HeaderList.from(all));
        const { bytes, length } = encoder;
        const { fields } = decoder.decode(bytes, 0, length, limits);
        const kept = pairs.filter(([name]) =>
          !/^(connection|keep-alive|upgrade)$/i.test(name)
        ).map(([name, value]) => [name.toLowerCase(), value]);
        assert.deepEqual(
          fields,
          [":status", "200", ...kept.flat(), "cookie", "a=b"],
        );
      }
    }),
  );
});

Deno.test("HeaderDecoder survives any bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        new HeaderDecoder().decode(bytes, 0, bytes.length, limits);
      } catch (error) {
        assert(error instanceof Http2ConnectionError);
      }
    }),
    { numRuns: 2000 },
  );
});
