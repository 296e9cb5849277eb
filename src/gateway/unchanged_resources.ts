import {
  combineResourceSets,
  resourceKey,
  type ResourceSet,
} from "../api/resources/resource_set.ts";

/**
 * Returns `next` with the objects of `before` where they are equal, in steps, so that what was compiled of them can be used again:
 * objects from files are new each time they are read.
 */
export function* keepUnchanged(
  before: ResourceSet,
  next: ResourceSet,
): Generator<void, ResourceSet> {
  const known = new Set(objectsOf(before));
  for (const each of objectsOf(next)) {
    if (known.has(each)) continue;
    textOf(each);
    yield;
  }
  return combineResourceSets(before, next, (old, list) => {
    const byKey = new Map(old.map((each) => [resourceKey(each), each]));
    return list.map((each) => {
      const same = byKey.get(resourceKey(each));
      if (same === undefined || same === each) return each;
      return textOf(same) === textOf(each) ? same : each;
    });
  });
}

const texts = new WeakMap<object, string>();

function textOf(resource: object): string {
  return texts.getOrInsertComputed(resource, (each) => JSON.stringify(each));
}

function* objectsOf(resources: ResourceSet): Generator<object> {
  for (const field of Object.values(resources)) {
    if (!Array.isArray(field)) continue;
    for (const each of field) if (typeof each === "object") yield each;
  }
}
