/** Durations as people write them: 250ms, 1.5s, 15m, 2h, 7d. */
const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The form, for schemas. */
export const durationPattern = '^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)$';

/** In whole milliseconds; undefined: it is no duration, 0, or longer than `maxMs`. */
export function durationMs(text: string, maxMs: number): number | undefined {
  if (!new RegExp(durationPattern).test(text)) return undefined;
  const unit = text.replace(/^[\d.]+/, '');
  const ms = Math.round(Number.parseFloat(text) * unitMs[unit]!);
  return ms > 0 && ms <= maxMs ? ms : undefined;
}
