/** Durations as people write them. */
import { expect, test } from 'vitest';
import { durationMs } from '../../proto/durations.ts';

test('a duration has a unit, is above 0 and at most its limit', () => {
  const good = { '1ms': 1, '500ms': 500, '1.5s': 1_500, '5m': 300_000, '24h': 86_400_000, '1d': 86_400_000 };
  for (const [text, ms] of Object.entries(good)) expect([text, durationMs(text, 86_400_000)]).toEqual([text, ms]);
  const bad = ['0s', '0.4ms', '24.01h', '86400001ms', '5', '5 s', '-1s', '.5s', '1.s', '1e3s', '1S', '1w', '1s\n', ''];
  for (const text of bad) expect([text, durationMs(text, 86_400_000)]).toEqual([text, undefined]);
});
