/** A text that is the same for the same value, whatever is in it: what two moments of a state are compared by. */
export function imageOf(value: unknown, above: readonly object[] = []): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' ? JSON.stringify(value) : String(value);
  if (value instanceof Uint8Array) return `<${Buffer.from(value).toString('hex')}>`;
  if (above.includes(value)) throw new Error('a state that contains itself');
  const inner = [...above, value];
  const image = (one: unknown) => imageOf(one, inner);
  if (value instanceof Map) return `Map(${[...value].map(([key, one]) => `${image(key)}=${image(one)}`).join(' ')})`;
  if (value instanceof Set) return `Set(${[...value].map(image).join(' ')})`;
  if (Array.isArray(value)) return `[${value.map(image).join(' ')}]`;
  const fields = Object.entries(value).map(([key, one]) => `${key}:${image(one)}`);
  return `{${fields.join(' ')}}`;
}
