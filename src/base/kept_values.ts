/** Keeps the values of keys that others choose, so that each is made once; starts anew when there are too many. */
export class KeptValues<K, V> {
  readonly #kept = new Map<K, V>();
  readonly #maxSize: number;
  readonly #create: (key: K) => V;

  constructor(maxSize: number, create: (key: K) => V) {
    this.#maxSize = maxSize;
    this.#create = create;
  }

  get(key: K): V {
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const value = this.#create(key);
    if (this.#kept.size >= this.#maxSize) this.#kept.clear();
    this.#kept.set(key, value);
    return value;
  }
}

/** Sets an entry as the newest one of a map; beyond `max` entries, the oldest is removed. */
export function setNewest<K, V>(
  map: Map<K, V>,
  key: K,
  value: V,
  max: number,
): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  for (const oldest of map.keys()) return void map.delete(oldest);
}
