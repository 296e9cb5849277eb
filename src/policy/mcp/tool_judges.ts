import { defineSlot, type Slots } from "../contract/slot.ts";

/** Reports for each tool whether rules let the client see it. @param names As clients know them. */
export type ToolJudge = (
  names: readonly string[],
) => Promise<readonly boolean[]>;

/** Rules of all policies that hide tools. */
const toolJudges = defineSlot<readonly ToolJudge[]>("toolJudges");

/** Adds the rules of a policy to those that decide which tools a search finds. */
export function addToolJudge(slots: Slots, judge: ToolJudge): void {
  slots.set(toolJudges, [...slots.get(toolJudges) ?? [], judge]);
}

/** Returns what all policies decide together; `undefined` if none of them hides tools. */
export function visibleTools(slots: Slots): ToolJudge | undefined {
  const judges = slots.get(toolJudges);
  if (judges === undefined) return undefined;
  return async (names) => {
    let isSeen: readonly boolean[] = names.map(() => true);
    for (const judge of judges) {
      const verdicts = await judge(names);
      isSeen = isSeen.map((seen, index) => seen && verdicts[index] === true);
    }
    return isSeen;
  };
}
