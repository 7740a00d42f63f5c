/** How much the console does under load: how often it draws, how many sessions it reads, how many rows it makes. */
import { expect, test } from 'vitest';
import type { Client, SandboxSession, SandboxStreamSession } from '../../../clients/client/index.ts';
import { sessionReads } from '../../../clients/console/browser/ceremonies/session-reads.ts';
import { drawPace } from '../../../clients/console/browser/draw-pace.ts';
import { makeStore } from '../../../clients/console/browser/shared/store.ts';
import { firstOf } from '../../../clients/console/browser/shared/ui.ts';
import { until } from '../../support/until.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

/** A page whose clock advances while it draws. */
function pageOf(timers: VirtualTimers) {
  let busyMs = 0;
  return {
    setTimeout: (run: () => void, ms: number) => {
      timers.start(ms, run);
      return 0;
    },
    requestAnimationFrame: (run: () => void) => {
      timers.start(1, run);
      return 0;
    },
    performance: { now: () => timers.nowMs() + busyMs },
    work: (ms: number) => {
      busyMs += ms;
    },
  };
}

test.each([
  // While the clock of the timers advances by 6 s.
  { takesMs: 2, drawn: [50, 61] },
  { takesMs: 100, drawn: [25, 31] },
  { takesMs: 1_000, drawn: [13, 16] },
])('draws at most ten times a second, and seldom where a draw takes $takesMs ms', async ({ takesMs, drawn }) => {
  const timers = new VirtualTimers();
  const page = pageOf(timers);
  let draws = 0;
  const { soon } = drawPace(page, () => {
    draws += 1;
    page.work(takesMs);
  });
  for (let ms = 0; ms < 6_000; ms += 10) {
    soon();
    soon();
    await timers.advance(10);
  }
  expect(draws).toBeGreaterThanOrEqual(drawn[0]!);
  expect(draws).toBeLessThanOrEqual(drawn[1]!);
});

test('what the reader did is drawn before the next event, however slow a draw is, and once', async () => {
  const timers = new VirtualTimers();
  const page = pageOf(timers);
  let draws = 0;
  const { soon, atOnce } = drawPace(page, () => {
    draws += 1;
    page.work(1_000);
  });
  soon();
  await timers.advance(10);
  expect(draws).toBe(1);
  soon();
  atOnce();
  atOnce();
  expect(draws).toBe(1);
  await Promise.resolve();
  expect(draws).toBe(2);
});

test('reads a burst of sessions at once, then ten a second, the newest first', async () => {
  const timers = new VirtualTimers();
  const read: string[] = [];
  const session = async (id: string) => {
    read.push(id);
    return { id } as unknown as SandboxSession;
  };
  const client = { sandbox: { session } } as unknown as Pick<Client, 'sandbox'>;
  const store = makeStore(() => 0);
  const reads = sessionReads(
    pageOf(timers),
    () => client,
    store,
    () => undefined,
  );
  const seen = (id: string) => ({ tenant: 'tn_1', session: id, state: 'completed' }) as SandboxStreamSession;
  const many = (name: string) => Array.from({ length: 200 }, (_, index) => seen(`${name}_${index}`));
  reads.want(many('first'));
  await until(() => read.length === 20, 'the burst');
  expect(read.slice(-2)).toEqual(['first_18', 'first_19']);
  reads.want([seen('newest'), ...many('first')]);
  await timers.advance(1_000);
  expect([read[20], read.length]).toEqual(['newest', 30]);
  // A pause gives the burst back.
  reads.want([]);
  await timers.advance(5_000);
  reads.want(many('later'));
  await until(() => read.length === 50, 'another burst');
});

test('of a long list the page makes the first rows alone', () => {
  const all = Array.from({ length: 2_000 }, (_, index) => index);
  expect(firstOf('a list', all)).toEqual(all.slice(0, 25));
});
