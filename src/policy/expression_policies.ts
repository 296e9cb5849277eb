/** The kinds that evaluate expressions; `registry.ts` has them loaded when a configuration has one of them. */
import {
  checkAuthorization,
  createAuthorization,
} from "./authorization/authorization.ts";
import { defineCombinedPolicy, definePolicy } from "./policy_kind.ts";
import { createRateLimit } from "./rate_limit/rate_limit.ts";
import { checkRateLimit } from "./rate_limit/rate_limit_checks.ts";
import { createTransformation } from "./transformation/transformation.ts";
import { checkTransformation } from "./transformation/transformation_checks.ts";

/** All rules of all levels. */
export const authorization = definePolicy("authorization", {
  merge: "accumulate",
  check: checkAuthorization,
  create: createAuthorization,
});

/** All limits of all levels, as one policy. */
export const rateLimit = defineCombinedPolicy("rateLimit", {
  check: checkRateLimit,
  create: createRateLimit,
});

/** The most specific one. */
export const transformation = definePolicy("transformation", {
  check: checkTransformation,
  create: createTransformation,
});
