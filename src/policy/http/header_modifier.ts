import {
  type HeaderModifier,
  headerModifierSchema,
} from "../../api/rules/http_filter.ts";
import { protectedHeaders } from "../../base/wire/protected_headers.ts";
import { isFieldValue } from "../../http/field_syntax.ts";
import type { HeaderList } from "../../http/header_list.ts";
import { lookAlikeRemover } from "../../http/look_alikes.ts";
import { isAuthority } from "../../http/server/contract/request_target.ts";
import type { Policy } from "../contract/policy.ts";
import { definePolicy } from "../contract/define_policy.ts";
import type { PolicyProblem } from "../contract/policy_kind.ts";

/** Changes request headers. */
export const requestHeaderModifier = definePolicy("requestHeaderModifier", {
  description: "Changes request headers.",
  schema: headerModifierSchema,
  phases: ["route", "backendRef"],
  merge: "replace",
  access: "open",
  rejections: {},
}, {
  check: checkRequestHeaderModifier,
  create: createRequestHeaderModifier,
});

/** Changes response headers. */
export const responseHeaderModifier = definePolicy("responseHeaderModifier", {
  description: "Changes response headers.",
  schema: headerModifierSchema,
  phases: ["route", "backendRef"],
  merge: "replace",
  access: "open",
  rejections: {},
}, {
  check: checkResponseHeaderModifier,
  create: createResponseHeaderModifier,
});

/** Sets, adds and removes request headers; setting `Host` replaces the authority. Gateway API, `HTTPHeaderFilter`. */
export function createRequestHeaderModifier(
  config: HeaderModifier,
): Policy<never> {
  const host = config.set?.find(({ name }) => isHost(name))?.value;
  const set = config.set?.filter(({ name }) => !isHost(name));
  const modify = compileModifier({ ...config, ...(set && { set }) });
  const removeLookAlikes = lookAlikeRemover(
    namesOf(config).map(({ name }) => name),
  );
  return {
    onRequest({ request }) {
      if (host !== undefined) request.authority = host;
      removeLookAlikes(request.headers);
      modify(request.headers);
    },
  };
}

/** Sets, adds and removes response headers, including those of the gateway's own responses. */
export function createResponseHeaderModifier(
  config: HeaderModifier,
): Policy<never> {
  const modify = compileModifier(config);
  return {
    onResponse(_context, response) {
      modify(response.headers);
    },
  };
}

/** Finds problems of a request modifier: as for responses, but `Host` may be set. */
export function checkRequestHeaderModifier(
  config: HeaderModifier,
): PolicyProblem[] {
  return problemsOf("request", config);
}

/** Finds problems of a response modifier: headers that frame messages, and names with more than one action. */
export function checkResponseHeaderModifier(
  config: HeaderModifier,
): PolicyProblem[] {
  return problemsOf("response", config);
}

function compileModifier(
  config: HeaderModifier,
): (headers: HeaderList) => void {
  const set = (config.set ?? []).map(({ name, value }) => ({
    key: name.toLowerCase(),
    name,
    value,
  }));
  const add = config.add ?? [];
  const remove = (config.remove ?? []).map((name) => name.toLowerCase());
  return (headers) => {
    for (const { key, name, value } of set) {
      if (headers.has(key)) headers.set(key, value);
      else headers.append(name, value);
    }
    for (const { name, value } of add) headers.append(name, value);
    for (const name of remove) headers.delete(name);
  };
}

type Side = "request" | "response";

function problemsOf(side: Side, config: HeaderModifier): PolicyProblem[] {
  return [...checkNames(side, config), ...checkValues(config)];
}

function checkNames(side: Side, config: HeaderModifier): PolicyProblem[] {
  const problems: PolicyProblem[] = [];
  const seen = new Set<string>();
  for (const { action, index, name } of namesOf(config)) {
    const key = name.toLowerCase();
    const path = [action, index];
    const isAllowed = !protectedHeaders.has(key) ||
      (side === "request" && action === "set" && isHost(name));
    if (!isAllowed) {
      const message =
        `Cannot ${action} header "${name}": the gateway writes it itself`;
      problems.push({ path, message });
    }
    if (seen.has(key)) {
      const message =
        `Cannot ${action} header "${name}": a modifier can have only one action for each header`;
      problems.push({ path, message });
    }
    seen.add(key);
  }
  return problems;
}

function namesOf(config: HeaderModifier) {
  const pairs = (action: "set" | "add") =>
    (config[action] ?? []).map(({ name }, index) => ({ action, index, name }));
  const removed = (config.remove ?? []).map((name, index) => ({
    action: "remove" as const,
    index,
    name,
  }));
  return [...pairs("set"), ...pairs("add"), ...removed];
}

function checkValues(config: HeaderModifier): PolicyProblem[] {
  const problems: PolicyProblem[] = [];
  for (const action of ["set", "add"] as const) {
    for (const [index, { name, value }] of (config[action] ?? []).entries()) {
      if (isHost(name) ? isAuthority(value) : isFieldValue(value)) continue;
      problems.push({
        path: [action, index, "value"],
        message: isHost(name)
          ? `Cannot set header "${name}": expected a host with an optional port, got "${value}"`
          : `Cannot ${action} header "${name}": the value holds characters that a header cannot have`,
      });
    }
  }
  return problems;
}

function isHost(name: string): boolean {
  return name.toLowerCase() === "host";
}
