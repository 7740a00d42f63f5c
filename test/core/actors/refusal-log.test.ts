/** The lines about refused strangers are bounded; a flood is counted, and hides no refusal of another kind. */
import { afterEach, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { intervalMs, linesMax, RefusalLog } from '../../../core/actors/live/refusal-log.ts';
import { collectLog } from '../../support/log.ts';
import { mesh } from './support/harness.ts';

const world = mesh();
afterEach(async () => {
  vi.useRealTimers();
  await world.stopAll();
});

it('counts a flood in one line at the end of its interval, and begins anew', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const { log, lines } = collectLog();
  const refusals = new RefusalLog(log, 'refused');
  for (let count = 0; count < 1_000; count += 1) refusals.refused({ code: 'NOT_TLS', remote: `10.0.0.1:${count}` });
  refusals.refused({ code: 'EXPIRED', remote: '10.0.0.2:1' });
  expect(lines.map(({ fields }) => fields.code)).toEqual([...Array(linesMax).fill('NOT_TLS'), 'EXPIRED']);
  expect(lines[0]).toMatchObject({ level: 'warn', message: 'refused', fields: { remote: '10.0.0.1:0' } });

  vi.advanceTimersByTime(intervalMs);
  expect(lines.slice(linesMax + 1).map(({ fields }) => fields)).toEqual([
    { code: 'NOT_TLS', further: 1_000 - linesMax, intervalMs },
  ]);

  vi.advanceTimersByTime(intervalMs);
  refusals.refused({ code: 'NOT_TLS', remote: '10.0.0.1:1' });
  expect(lines).toHaveLength(linesMax + 3);
});

it('bounds what garbage in place of handshakes writes at a link server', async () => {
  const { url, lines } = await world.server();
  const closed = Array.from({ length: linesMax + 5 }, () => {
    const socket = new WebSocket(url).on('open', () => socket.send('garbage'));
    return new Promise((resolve) => socket.on('close', resolve));
  });
  await Promise.all(closed);
  expect(lines.map(({ fields }) => fields.code)).toEqual(Array(linesMax).fill('MALFORMED'));
});
