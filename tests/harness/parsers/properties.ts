import fc from "fast-check";

const asked = Deno.env.get("FAST_CHECK_SEED");

/** Uses the same cases on every machine, for reproducible results; `FAST_CHECK_SEED` selects other cases. */
fc.configureGlobal({ seed: asked === undefined ? 20260101 : Number(asked) });

export { fc };
