/** Returns an object that was put together from the fields of its type. */
export function decodeFields<T>(fields: Readonly<Record<string, unknown>>): T {
  return fields as T;
}
