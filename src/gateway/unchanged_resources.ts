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
  const known = new Set(objectsOf(before).map(({ object }) => object));
  yield;
  const added = objectsOf(next).filter(({ object }) => !known.has(object))
    .toArray();
  yield;
  const places = new Map<string, Place>();
  for (const place of added.length === 0 ? [] : objectsOf(before)) {
    places.set(resourceKey(place.object), place);
    yield;
  }
  const unchanged = new Map<object, number>();
  for (const { object } of added) {
    const place = places.get(resourceKey(object));
    if (place !== undefined && textOf(place.object) === textOf(object)) {
      unchanged.set(object, place.index);
    }
    yield;
  }
  return combineResourceSets(
    listsOf(before),
    next,
    (old, list) =>
      unchanged.size === 0 ? list : list.map((each) => {
        const index = unchanged.get(each);
        return index === undefined ? each : old[index] ?? each;
      }),
  );
}

const texts = new WeakMap<object, string>();

function textOf(resource: object): string {
  return texts.getOrInsertComputed(resource, (each) => JSON.stringify(each));
}

/** A resource and its index in its list. */
interface Place {
  readonly object: Parameters<typeof resourceKey>[0];
  readonly index: number;
}

function* objectsOf(resources: ResourceSet): Generator<Place> {
  for (const list of Object.values(listsOf(resources))) {
    for (const [index, object] of list.entries()) yield { object, index };
  }
}

/** Returns the lists of objects, without other fields. */
function listsOf(
  {
    environment: _,
    isolatesErrors: _i,
    separatesGateways: _s,
    reserved: _r,
    unusablePorts: _p,
    ...lists
  }: ResourceSet,
) {
  return lists;
}
