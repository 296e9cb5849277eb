import assert from "node:assert/strict";
import { readFile, repositoryFiles } from "./repository.ts";

const records = (await repositoryFiles()).filter((path) =>
  /^docs\/decisions\/\d{4}/.test(path)
);

Deno.test("every decision has a title with its number, a date, a context, a choice and a price", async () => {
  const malformed: string[] = [];
  for (const path of records) {
    const number = Number(/\d{4}/.exec(path)?.[0]);
    const form = new RegExp(
      `^# ${number}\\. .+\n\n\\d{4}-\\d\\d-\\d\\d\n\n## Context\n[^]+\n## Choice\n[^]+\n## Price\n`,
    );
    if (!form.test(await readFile(path))) malformed.push(path);
  }

  assert(records.length > 0);
  assert.deepEqual(malformed, []);
});

Deno.test("no two decisions have one number", () => {
  const byNumber = Map.groupBy(records, (path) => /\d{4}/.exec(path)?.[0]);
  const double = [...byNumber.values()].filter(({ length }) => length > 1);
  assert.deepEqual(double, []);
});

Deno.test("the index of decisions lists every record", async () => {
  const index = await readFile("docs/decisions/README.md");
  const missing = records.filter((path) =>
    !index.includes(`](${path.split("/").at(-1)})`)
  );

  assert.deepEqual(missing, []);
});
