import { countItems, countValue } from "./cost.ts";
import { APPEND_FUNCTION, RANGE_FUNCTION } from "./macros.ts";

/** All functions of one name. */
interface Group<Value, Result> {
  readonly name: string;
  call(id: number, target: Value | undefined, args: Value[]): Result;
}

interface Functions<Value, Result> extends Iterable<{ readonly name: string }> {
  find(name: string): Group<Value, Result> | undefined;
}

/** Wraps the functions of an environment to count their arguments and results. */
export function withCountedFunctions<
  Value,
  Result,
  Environment extends { readonly funcs: Functions<Value, Result> },
>(environment: Environment): Environment {
  const { funcs } = environment;
  const names = new Set([...funcs].map(({ name }) => name));
  const groups = new Map(
    [...names].map((name) => [name, countingGroup(funcs.find(name))]),
  );
  // Only the library can create some members of its classes.
  const find = { value: (name: string) => groups.get(name) };
  const counting = { value: Object.create(funcs, { find }) };
  return Object.create(environment, { funcs: counting });
}

/** Throws in `find`, which ends the evaluation; an error of the function itself could be absorbed by `||`. */
function countingGroup<Value, Result>(
  group: Group<Value, Result> | undefined,
): Group<Value, Result> | undefined {
  if (group === undefined) return undefined;
  switch (group.name) {
    case APPEND_FUNCTION:
      return group;
    case RANGE_FUNCTION:
      return withCall(group, (id, target, args) => {
        args.forEach(countItems);
        return group.call(id, target, args);
      });
    default:
      return withCall(group, (id, target, args) => {
        countValue(target);
        for (const arg of args) countValue(arg);
        const result = group.call(id, target, args);
        countValue(result);
        return result;
      });
  }
}

function withCall<Value, Result>(
  group: Group<Value, Result>,
  call: Group<Value, Result>["call"],
): Group<Value, Result> {
  return Object.create(group, { call: { value: call } });
}
