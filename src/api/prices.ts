import * as s from "./schema/schema.ts";

const price = s.refine(
  s.number(),
  s.rule(
    (value) => value >= 0 && value <= 100_000,
    "expected a price from 0 to 100000",
  ),
);

const tokenPrices = {
  input: s.field(
    "US dollars per million input tokens.",
    price,
  ),
  output: s.field("US dollars per million output tokens.", price),
  cachedInput: s.field(
    "US dollars per million input tokens read from the prompt cache; `input` by default.",
    s.optional(price),
  ),
  cacheWrite: s.field(
    "US dollars per million input tokens written to the prompt cache; `input` by default.",
    s.optional(price),
  ),
  audioInput: s.field(
    "US dollars per million input tokens of speech; `input` by default.",
    s.optional(price),
  ),
  cachedAudioInput: s.field(
    "US dollars per million tokens of speech read from the prompt cache; `cachedInput` by default.",
    s.optional(price),
  ),
  audioOutput: s.field(
    "US dollars per million output tokens of speech; `output` by default.",
    s.optional(price),
  ),
  imageInput: s.field(
    "US dollars per million input tokens of images; `input` by default.",
    s.optional(price),
  ),
  imageOutput: s.field(
    "US dollars per million output tokens of images; `output` by default.",
    s.optional(price),
  ),
  page: s.field(
    "US dollars per page, of models that read documents and bill pages.",
    s.optional(price),
  ),
  image: s.field(
    "US dollars per image, of models that bill images in place of tokens.",
    s.optional(price),
  ),
  characters: s.field(
    "US dollars per million characters that a model speaks, of those that bill characters.",
    s.optional(price),
  ),
  search: s.field(
    "US dollars per search, of models that rank documents and bill searches: a query with up to 100 documents.",
    s.optional(price),
  ),
  audioHour: s.field(
    "US dollars per hour of speech, of models that bill it in place of tokens.",
    s.optional(price),
  ),
  batch: s.field(
    "Price of batches in relation to that of other requests; 0.5 by default.",
    s.optional(s.refine(
      s.number(),
      s.rule(
        (value) => value >= 0 && value <= 10,
        "expected a factor from 0 to 10",
      ),
    )),
  ),
};

/** Prices of models: `config.prices`. */
export const pricesSchema = s.object({
  models: s.field(
    "Prices of models in place of those that the gateway ships. The first entry that has begun and matches applies.",
    s.withDefault(
      s.list(
        s.object({
          model: s.field(
            "Name of the model; `*` stands for any text.",
            s.refine(
              s.text(256),
              s.rule(
                (model) => model.split("*").length <= 3,
                'expected a model name with at most two "*"',
              ),
            ),
          ),
          from: s.field(
            "First day on which the prices hold (UTC), such as `2026-01-31`.",
            s.optional(s.named(
              "date",
              s.checkedText(isDate, 'a date such as "2026-01-31"'),
            )),
          ),
          ...tokenPrices,
        }),
        { max: 1000 },
      ),
      [],
    ),
  ),
  unknownModel: s.field(
    "Prices of models that have none; budgets in money are charged this.",
    s.withDefault(s.object(tokenPrices), { input: 15, output: 75 }),
  ),
});

function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}
