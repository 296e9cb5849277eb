import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { JsonProblem } from "../../../src/base/json/json_ambiguity.ts";
import { type JsonSpan, readJson } from "../../../src/base/json/json_reader.ts";
import {
  JsonSelection,
  type JsonShape,
  WHOLE,
} from "../../../src/base/json/json_shape.ts";
import { fc } from "../../harness/parsers/properties.ts";

const encoder = new TextEncoder();

async function read(
  text: string | Uint8Array,
  shape: JsonShape,
): Promise<unknown> {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  return await readJson(bytes, new JsonSelection(shape));
}

/** `undefined` for what is no JSON. */
async function readOrNot(text: string, shape: JsonShape): Promise<unknown> {
  try {
    return await readJson(encoder.encode(text), new JsonSelection(shape));
  } catch (error) {
    assert.ok(error instanceof JsonProblem);
    return undefined;
  }
}

function parseOrNot(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const names = fc.constantFrom("a", "b", "é", "ab", "__proto__", '"', "\n", "");
/** JSON in which no name is ambiguous. */
const json = fc.jsonValue({ maxDepth: 4 }).chain((value) =>
  fc.dictionary(names, fc.constantFrom(value, { a: value, b: [value] }, 1.5))
);

Deno.test("readJson reads the members of an object that JSON.parse reads", async () => {
  const shape = { a: { a: WHOLE, "é": WHOLE }, "é": WHOLE, ab: WHOLE } as const;
  await fc.assert(
    fc.asyncProperty(
      json,
      fc.constantFrom("", " ", "\n\t"),
      async (value, gap) => {
        const text = JSON.stringify(value, undefined, gap);
        const got = await readOrNot(text, { "é": shape["é"], ab: WHOLE });
        if (got === undefined) return;
        const { é, ab } = JSON.parse(text);
        const expected = {
          ...("é" in value && { é }),
          ...("ab" in value && { ab }),
        };
        assert.deepEqual(got, expected);
      },
    ),
  );
});

Deno.test("readJson accepts the texts that JSON.parse accepts", async () => {
  const pieces = [...'{}[],:"\\ \n0123.eE-+tfnu', "true", '"a":', "\u0001"];
  const mutation = fc.record({
    at: fc.nat(),
    length: fc.nat(2),
    piece: fc.constantFrom("", ...pieces),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.json(),
      fc.array(mutation, { maxLength: 3 }),
      async (text, all) => {
        let changed = text.toWellFormed();
        for (const { at, length, piece } of all) {
          const start = at % (changed.length + 1);
          changed = changed.slice(0, start) + piece +
            changed.slice(start + length);
        }
        const sane = changed.toWellFormed();
        const isJson = parseOrNot(`[${sane}]`) !== undefined;
        const got = await readOrNot(`[${sane}]`, {});
        assert.equal(got !== undefined, isJson, sane);
      },
    ),
    { numRuns: 3000 },
  );
});

const READ: readonly [string, JsonShape, unknown][] = [
  ['{"a":1,"b":{"c":[2]}}', { b: { c: WHOLE } }, { b: { c: [2] } }],
  ['{"a":1}', { b: WHOLE }, {}],
  ['{"x\\u0000":1,"x\\ud800":2,"a":1}', { a: WHOLE }, { a: 1 }],
  ['{"\\u0061":"\\u0062"}', { a: WHOLE }, { a: "b" }],
  ['{"a":[1]}', { a: { b: WHOLE } }, { a: [] }],
  ['{"a":"x"}', { a: { b: WHOLE } }, { a: "x" }],
  ["[1]", {}, []],
  ["[ ]", [WHOLE], []],
  ["[1 , [2]]", [WHOLE], [1, [2]]],
  ['{"a":[{"b":1,"c":2},{"c":3},4]}', { a: [{ b: WHOLE }] }, {
    a: [{ b: 1 }, {}, 4],
  }],
  ['{"a":[[{"b":1}],[]],"d":2}', { a: [[{ b: WHOLE }]], d: WHOLE }, {
    a: [[{ b: 1 }], []],
    d: 2,
  }],
  ['{"a":{"b":1},"c":[[{"d":1}]]}', { a: [WHOLE], c: [{ d: WHOLE }] }, {
    a: {},
    c: [[]],
  }],
  [" null\n", {}, null],
  ['{"x":1,"x":2,"X":3,"a":1}', { a: WHOLE }, { a: 1 }],
  ['{"x":{"a":1,"a":2},"a":"é😀"}', { a: WHOLE }, { a: "é😀" }],
  ['{"x":1e999,"y":"\\ud800","a":0.1}', { a: WHOLE }, { a: 0.1 }],
  [
    '{"a":[9007199254740991,1e20,0.30000000000000004,-0.5]}',
    { a: WHOLE },
    { a: [9007199254740991, 1e20, 0.30000000000000004, -0.5] },
  ],
];
for (const [text, shape, expected] of READ) {
  Deno.test(`readJson reads ${JSON.stringify(shape)} of ${text}`, async () => {
    assert.deepEqual(await read(text, shape), expected);
  });
}

Deno.test("readJson reads a member called __proto__ as any other", async () => {
  const value = await read(
    '{"__proto__":1}',
    Object.fromEntries([["__proto__", WHOLE]]),
  );

  assert.deepEqual(Object.entries(value ?? {}), [["__proto__", 1]]);
});

const shape = { a: WHOLE, k: { s: WHOLE } } as const;
for (
  const text of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"a":1,"A":2}',
    '{"A":1}',
    '{"\\u0041":1}',
    '{"k":{},"k":{}}',
    '{"\u212a":{"s":1}}',
    '{"k":{"\u017f":1}}',
    '{"a\\u0000":1}',
    '{"a\\ud800":1}',
    '{"a":{"b":1,"b":1}}',
    '{"a":[{"b":1,"\\u0062":1}]}',
    '{"a":{"b":1,"B":1}}',
    '{"a":{"b\\u0000":1}}',
    '{"a":"\\udc00"}',
    '{"a":{"\\ud800":1}}',
    '{"a":9007199254740993}',
    '{"a":[1e400]}',
    '{"a":1e-400}',
    '{"a":0.3000000000000000444}',
  ]
) {
  Deno.test(`readJson finds ${text} ambiguous`, async () => {
    await assert.rejects(
      () => read(text, shape),
      (error) => error instanceof JsonProblem && error.isAmbiguous,
    );
  });
}

for (
  const [what, text] of [
    ["a byte order mark", '\ufeff{"a":1}'],
    ["bytes that are no UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
    ["an overlong quote", new Uint8Array([0x22, 0xc0, 0xa2, 0x22])],
    ["UTF-16", new Uint8Array([0x7b, 0, 0x7d, 0])],
    ["a comment", '{"a":1/**/}'],
    ["a second value", '{"a":1}{"a":2}'],
    ["NaN", '{"x":NaN}'],
    ["Infinity", '{"x":-Infinity}'],
    ["single quotes", "{'a':1}"],
    ["a comma at the end", '{"a":1,}'],
    ["a line break in a string", '{"x":"\n"}'],
    ["a NUL", '{"a":1}\0'],
    ["a number in hexadecimal", '{"x":0x1}'],
    ["a leading zero", '{"x":01}'],
    ["nothing", ""],
    ["512 lists in one another", `{"a":${"[".repeat(512)}${"]".repeat(512)}}`],
    ["too many values", `{"a":[${"1,".repeat(10_000)}1]}`],
    ["too long a value", `{"a":"${"x".repeat(1 << 20)}"}`],
    ["too many names with escapes", `{${'"\\u0062":1,'.repeat(1001)}"b":1}`],
  ] as const
) {
  Deno.test(`readJson rejects ${what}`, async () => {
    await assert.rejects(
      () => read(text, shape),
      (error) => error instanceof JsonProblem && !error.isAmbiguous,
    );
  });
}

Deno.test("readJson only validates what is not read, however deep it is and whatever its names are", async () => {
  const deep = "[".repeat(50_000) + "]".repeat(50_000);
  const names = '"\\u0062":1,'.repeat(1001);
  const text = `{"x":${deep},"o":{${names}"b":2},"a":1}`;
  assert.deepEqual(await read(text, { a: WHOLE, o: {} }), { a: 1, o: {} });
  await assert.rejects(() => read(`{"x":${deep.slice(1)}}`, { a: WHOLE }));
});

Deno.test("readJson reports where values are, without the blanks around them", async () => {
  const text = ' {"é":{"b": [1] ,"c":{}}, "d" : "x"} ';
  const bytes = encoder.encode(text);
  const spans = new Map<string, JsonSpan>();

  await readJson(
    bytes,
    new JsonSelection({ "é": { b: WHOLE, c: {} }, d: WHOLE }),
    spans,
  );

  const texts = [...spans].map(([path, { start, end }]) => [
    path,
    new TextDecoder().decode(bytes.subarray(start, end)),
  ]);
  assert.deepEqual(Object.fromEntries(texts), {
    "": text.trim(),
    "é": '{"b": [1] ,"c":{}}',
    "é.b": "[1]",
    "é.c": "{}",
    d: '"x"',
  });
});

const MEGABYTES = 8;
const size = MEGABYTES * 1024 * 1024;
/** Inputs that take the most time per byte. */
const hostile: Readonly<Record<string, string>> = {
  members: '"k":1,',
  "names that are nearly read": '"modeL_":0,',
  strings: '"x":["",""],',
  lists: '"x":[[],[]],',
  objects: '"x":{"":{}},',
  numbers: '"x":[1,2,3],',
  literals: '"x":[null,true],',
  blanks: "  ",
  escapes: '"x":"\\u0041\\n",',
};
for (const [what, piece] of Object.entries(hostile)) {
  Deno.test(`readJson lets others go on while it reads ${MEGABYTES} MiB of ${what}`, async () => {
    const text = `{${piece.repeat(size / piece.length)}"model":"a"}`;
    const bytes = encoder.encode(text);
    let turns = 0;
    const timer = setInterval(() => turns++, 0);

    const value = await readJson(bytes, new JsonSelection({ model: WHOLE }));

    clearInterval(timer);
    assert.deepEqual(value, { model: "a" });
    assert.ok(turns >= MEGABYTES, `${turns} turns`);
  });
}

Deno.test("readJson says where the items of a list are", async () => {
  const text = '{"a":[ {"b": 1} ,{"b":"x"}]}';
  const spans = new Map<string, JsonSpan>();

  await readJson(
    encoder.encode(text),
    new JsonSelection({ a: [{ b: WHOLE }] }),
    spans,
  );

  const places = [...spans].map(([path, { start, end }]) =>
    [path, text.slice(start, end)] as const
  );
  assert.deepEqual(Object.fromEntries(places), {
    "a.0.b": "1",
    "a.0": '{"b": 1}',
    "a.1.b": '"x"',
    "a.1": '{"b":"x"}',
    a: '[ {"b": 1} ,{"b":"x"}]',
    "": text,
  });
});

Deno.test("readJson finds the end of long strings wherever it is", async () => {
  const stops = ['"', "\\", "\n", "\x1f", " ", "!", "#", "\x7f", "é", "😀"];
  for (const stop of stops) {
    for (let before = 0; before < 20; before++) {
      const long = "x".repeat(before) + stop + "y".repeat(20);
      const raw = `{"a":"${long}","b":1}`;
      const escaped = JSON.stringify({ a: long, b: 1 });

      for (const text of [raw, escaped]) {
        const parsed = parseOrNot(text);
        const expected = parsed === undefined ? undefined : { b: 1 };
        assert.deepEqual(await readOrNot(text, { b: WHOLE }), expected, text);
      }
    }
  }
});

Deno.test("readJson checks a long text in slices, which may end inside of a character", async () => {
  const slice = 4 * 1024 * 1024;
  for (const character of ["é", "日", "😀"]) {
    const size = encoder.encode(character).length;
    for (let before = 0; before < size; before++) {
      const text = JSON.stringify({
        a: "x".repeat(before) + character.repeat(slice / size + 8),
        b: 1,
      });
      const bytes = encoder.encode(text);

      assert.deepEqual(await read(bytes, { b: WHOLE }), { b: 1 });

      bytes[slice] = 0xff;
      await assert.rejects(read(bytes, { b: WHOLE }), /it is not UTF-8/);
    }
  }
});

Deno.test("other work goes on between the slices of a long text", async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    if (isOver) return;
    turns++;
    setImmediate(count);
  };
  setImmediate(count);

  await read(JSON.stringify({ a: "é".repeat(5 * 1024 * 1024) }), { b: WHOLE });
  isOver = true;

  // Three slices of the check and twenty of the reader, with 61 turns after each.
  assert.ok(turns > 20 * 61, `${turns} turns`);
});
