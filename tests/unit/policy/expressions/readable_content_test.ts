import assert from "node:assert/strict";
import { HeaderList } from "../../../../src/http/header_list.ts";
import {
  contentProblem,
  isForm,
} from "../../../../src/policy/expressions/readable_content.ts";

const type = "content-type";
const coding = "content-encoding";

for (
  const fields of [
    [],
    [type, "application/json"],
    [type, 'Application/JSON ; Charset="UTF-8"'],
    [type, "application/vnd.api+json;charset=utf8"],
    [type, 'application/json; profile="a\\"b;charset=utf-7"; charset=utf-8;'],
    [type, "text/plain;charset=UTF-8", coding, "identity"],
    [type, "multipart/form-data; boundary=----WebKitFormBoundary7"],
  ]
) {
  Deno.test(`servers agree on content with the headers ${fields.join(" ")}`, () => {
    assert.equal(contentProblem(new HeaderList([...fields])), undefined);
  });
}

for (
  const [problem, ...fields] of [
    ["the charset is not UTF-8", type, "application/json; charset=utf-7"],
    ["the charset is not UTF-8", type, "application/json;CHARSET=UTF-16LE"],
    ["the charset is not UTF-8", type, 'text/plain; a=b; charset="latin1"'],
    ["the charset is not UTF-8", type, 'text/plain; charset="utf\\-8"'],
    ["the charset is not UTF-8", type, 'text/plain; charset=""'],
    ["Content-Type is malformed", type, ""],
    ["Content-Type is malformed", type, "json"],
    ["Content-Type is malformed", type, "application/json charset=utf-7"],
    ["Content-Type is malformed", type, "application/json; charset = utf-7"],
    ["Content-Type is malformed", type, "application/json; charset*=utf-7"],
    ["Content-Type is malformed", type, "application/json; charset*0=utf-7"],
    ["Content-Type is malformed", type, 'application/json; a="; charset=utf-7'],
    ["Content-Type is malformed", type, "application/json, application/json"],
    ["Content-Type is malformed", type, "a/b; charset=utf-8; charset=utf-7"],
    ["Content-Type is malformed", type, "a/b; charset=utf-8; charset=utf-8"],
    ["Content-Type is malformed", type, "a/b; charset=utf-8;\u00e4"],
    ["Content-Type is repeated", type, "a/b", "Content-Type", "a/b"],
    ["the body is compressed", coding, "gzip"],
    ["the body is compressed", coding, ""],
    ["the body is compressed", coding, "identity", coding, "br"],
  ]
) {
  Deno.test(`servers may disagree on content with the headers ${fields.join(" ")}`, () => {
    assert.equal(contentProblem(new HeaderList([...fields])), problem);
  });
}

Deno.test("forms are known by their media type in any case", () => {
  const ofType = (value: string) => isForm(HeaderList.from([[type, value]]));

  assert.ok(ofType("application/X-www-form-urlencoded; charset=utf-8"));
  assert.ok(ofType("multipart/form-data; boundary=a"));
  assert.ok(!ofType("application/json"));
});
