import assert from "node:assert/strict";
import { defineSlot, Slots } from "../../../../src/policy/contract/slot.ts";

Deno.test("slots of one name hold values of their own, for one request", () => {
  const first = defineSlot<number>("limit");
  const second = defineSlot<string>("limit");
  const slots = new Slots();

  slots.set(first, 1);
  slots.set(second, "two");

  assert.equal(slots.get(first), 1);
  assert.equal(slots.get(second), "two");
  assert.equal(new Slots().get(first), undefined);
});

Deno.test("a slot that is set to undefined holds nothing", () => {
  const slot = defineSlot<number>("limit");
  const slots = new Slots();

  slots.set(slot, 1);
  slots.set(slot, undefined);

  assert.equal(slots.get(slot), undefined);
});
