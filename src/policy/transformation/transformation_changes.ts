import {
  isPseudoHeader,
  type MessageChanges,
  type PseudoHeader,
} from "./transformation_schema.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Hide } from "../../base/redaction.ts";
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import type { Variables } from "../cel/variables.ts";
import type { HeaderList } from "../../http/header_list.ts";
import { lookAlikeRemover } from "../../http/look_alikes.ts";
import { type BodyUse, joinBodyUses } from "../expressions/body_variables.ts";
import { compileChecked } from "../expressions/expression_checks.ts";
import { noteFailedExpression } from "../expressions/expression_slots.ts";
import type { PolicyContext } from "../contract/policy.ts";
import {
  compileBody,
  compileHeader,
  type TransformationExpression,
} from "./transformation_expression.ts";

interface PseudoChange {
  readonly name: PseudoHeader;
  readonly expression: TransformationExpression<string>;
}

/** A header that gets the value of an expression. */
export interface HeaderChange {
  readonly action: "set" | "add";
  /** Name as configured; `key` is in lower case. */
  readonly name: string;
  readonly key: string;
  readonly expression: TransformationExpression<string>;
}

/** A change with its value for a message. */
export interface EvaluatedHeader {
  readonly change: HeaderChange;
  readonly value: string | EvaluationFailure;
}

const noValues: ReadonlyMap<PseudoHeader, string> = new Map();

/** Compiled changes to requests or to responses. */
export class CompiledChanges {
  readonly body: TransformationExpression<Uint8Array> | undefined;
  readonly bodyUse: BodyUse | undefined;
  readonly readsRequestBody: boolean;
  readonly readsResponseBody: boolean;
  readonly readsUsage: boolean;
  readonly #pseudo: readonly PseudoChange[];
  readonly #headers: readonly HeaderChange[];
  readonly #removed: readonly string[];
  readonly #removeLookAlikes: (headers: HeaderList) => void;

  constructor(
    { set = [], add = [], remove = [], body }: MessageChanges,
    hide: Hide,
  ) {
    this.#pseudo = set.flatMap(({ name, value }) =>
      isPseudoHeader(name)
        ? [{
          name,
          expression: compileHeader(name, compileChecked(value, hide)),
        }]
        : []
    );
    this.#headers = [
      ...set.filter(({ name }) => !isPseudoHeader(name)).map((each) =>
        compileChange("set", each, hide)
      ),
      ...add.map((each) => compileChange("add", each, hide)),
    ];
    this.#removed = remove.map((name) => name.toLowerCase());
    this.#removeLookAlikes = lookAlikeRemover([
      ...this.#headers.map(({ key }) => key),
      ...this.#removed,
    ]);
    this.body = body === undefined
      ? undefined
      : compileBody(compileChecked(body, hide));
    const all = [
      ...[...this.#pseudo, ...this.#headers].map(({ expression }) =>
        expression
      ),
      this.body,
    ];
    this.bodyUse = joinBodyUses(all.map((each) => each?.bodyUse));
    this.readsRequestBody = all.some((each) => each?.readsRequestBody);
    this.readsResponseBody = all.some((each) => each?.readsResponseBody);
    this.readsUsage = all.some((each) => each?.readsUsage);
  }

  /**
   * Evaluates the pseudo headers.
   * @throws {GatewayError} `transformation_failed` if one has no value: a message needs it, and must not keep the old one.
   */
  evaluatePseudo(
    variables: Variables,
    context: PolicyContext,
  ): ReadonlyMap<PseudoHeader, string> {
    if (this.#pseudo.length === 0) return noValues;
    const values = new Map<PseudoHeader, string>();
    for (const { name, expression } of this.#pseudo) {
      const value = expression.read(variables);
      if (value instanceof EvaluationFailure) {
        noteFailedExpression(context, "transformation");
        const reason = value.withoutValues(expression.shown);
        throw new GatewayError(
          "transformation_failed",
          "gateway",
          `Cannot set "${name}": ${reason}`,
        );
      }
      values.set(name, value);
    }
    return values;
  }

  /** Evaluates the headers. */
  evaluateHeaders(
    variables: Variables,
    context: PolicyContext,
  ): readonly EvaluatedHeader[] {
    return this.#headers.map((change) => {
      const value = change.expression.read(variables);
      if (value instanceof EvaluationFailure) {
        noteFailedExpression(context, "transformation");
      }
      return { change, value };
    });
  }

  /** Writes the values; a header without one is removed, so that clients cannot set it. */
  apply(headers: HeaderList, changes: readonly EvaluatedHeader[]): void {
    this.#removeLookAlikes(headers);
    for (const { change: { action, name, key }, value } of changes) {
      if (value instanceof EvaluationFailure) headers.delete(key);
      else if (action === "set" && headers.has(key)) headers.set(key, value);
      else headers.append(name, value);
    }
    for (const name of this.#removed) headers.delete(name);
  }
}

function compileChange(
  action: HeaderChange["action"],
  { name, value }: { readonly name: string; readonly value: string },
  hide: Hide,
): HeaderChange {
  const expression = compileHeader(name, compileChecked(value, hide));
  return { action, name, key: name.toLowerCase(), expression };
}
