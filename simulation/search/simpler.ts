/** Simpler forms of one fault or one step: one field fewer, or a smaller number. Smallest first. */

/** Optional fields of faults and steps. */
const optional: ReadonlySet<string> = new Set([
  'at',
  'phase',
  'probability',
  'direction',
  'distribution',
  'copies',
  'for',
  'about',
  'lose_state',
  'insist',
  'expect',
  'approval',
  'witness',
  'path',
  'keystore',
  'message',
  'token',
  'sender',
  'recipient',
  'contract_version',
  'wallet_terms',
]);
/** Numbers, with their smallest useful values. */
const numbers: Readonly<Record<string, number>> = {
  after_ms: 0,
  nth: 1,
  count: 1,
  copies: 1,
  for_ms: 1,
  by_ms: 1,
  within_ms: 1,
  max_ms: 1,
  restart_after_ms: 0,
  ms: 0,
  advance_ms: 0,
  total_nodes: 2,
  threshold: 2,
};

/** Each differs from `value` in one place. */
export function simpler(value: object): object[] {
  const found: object[] = [];
  for (const [name, field] of Object.entries(value)) {
    if (optional.has(name) && !takesAny(field)) {
      const { [name]: _, ...rest } = value as Readonly<Record<string, unknown>>;
      found.push(rest);
    }
    const least = numbers[name];
    if (typeof field === 'number' && least !== undefined) {
      for (const smaller of smallerThan(field, least)) found.push({ ...value, [name]: smaller });
    }
    const nested = name === 'at' || name === 'wait' || name === 'inject';
    if (nested && typeof field === 'object' && field !== null) {
      for (const inner of simpler(field)) if (Object.keys(inner).length > 0) found.push({ ...value, [name]: inner });
    }
  }
  return found;
}

/** Without it the step would have to succeed. */
function takesAny(field: unknown): boolean {
  return typeof field === 'object' && field !== null && 'http' in field && field.http === 'any';
}

function smallerThan(field: number, least: number): number[] {
  // Negative numbers only move towards zero: setting a clock back differs from setting it forward.
  const [floor, sign] = field < 0 ? [0, -1] : [least, 1];
  const size = Math.abs(field);
  if (size <= floor) return [];
  const middle = Math.floor((size + floor) / 2);
  return [...new Set([floor, middle, size - 1])].filter((one) => one < size && one >= floor).map((one) => sign * one);
}
