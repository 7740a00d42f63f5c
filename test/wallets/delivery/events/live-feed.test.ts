/** The places of event streams, and one stream in virtual time: what each reader gets, when it is cut, and what it leaves behind. */
import { describe, expect, test } from 'vitest';
import { EventStream } from '../../../../wallets/delivery/events/event-stream.ts';
import { type Follower, LiveFeed } from '../../../../wallets/delivery/events/live-feed.ts';
import type { WakesListener } from '../../../../wallets/delivery/events/wakes.ts';
import type { EventPage, StoredEvent } from '../../../../wallets/store/contract.ts';
import { collectLog } from '../../../support/log.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A feed over a log whose last sequence and floor the test sets. */
function feedOf(limits: ConstructorParameters<typeof LiveFeed>[1] = {}) {
  const timers = new VirtualTimers();
  const log = { last: 0, floor: 1, reads: 0 };
  const wakes = { calls: [] as string[], listener: undefined as WakesListener | undefined };
  const store = {
    events: async (_: string, { afterSequence, limit }: { afterSequence: number; limit: number }) => {
      log.reads += 1;
      const from = Math.max(afterSequence + 1, log.floor);
      const count = Math.min(limit, Math.max(0, log.last - from + 1));
      const events = Array.from({ length: count }, (_, index): StoredEvent => {
        const resource = { type: 'wallet', id: 'wal_1', version: 1 };
        const about = { type: 'wallet.created', atMs: 0, correlationId: 'c', provider: null, connectionId: null };
        return { ...about, id: `evt_${from + index}`, sequence: from + index, resource, object: {} };
      });
      const nextAfterSequence = count === 0 ? afterSequence : from + count - 1;
      const page = { events, hasMore: false, nextAfterSequence, floorSequence: log.floor, lastSequence: log.last };
      return page satisfies EventPage;
    },
  };
  const feed = new LiveFeed(
    {
      wakes: {
        listen: (listener) => {
          wakes.listener = listener;
        },
        follow: (tenant) => wakes.calls.push(`follow ${tenant}`),
        unfollow: (tenant) => wakes.calls.push(`unfollow ${tenant}`),
        close: () => wakes.calls.push('close'),
      },
      ...{ store, timers, log: collectLog().log },
    },
    limits,
  );
  const caller = { admitted: true, cuts: 0 };
  const stream = (afterSequence = 0) =>
    new EventStream({
      ...{ store, timers, place: feed.take('t'), filter: { types: [] }, afterSequence, environment: 'sandbox' },
      caller: { stillAdmitted: async () => caller.admitted, cut: () => (caller.cuts += 1) },
      log: collectLog().log,
    });
  return { feed, timers, log, wakes, stream, caller };
}

function follower() {
  const seen: (number | 'end')[] = [];
  const follower: Follower = { news: (last) => seen.push(last), end: () => seen.push('end') };
  return { seen, follower };
}

describe('the places of a gateway', () => {
  test('are as many as its limits say, for one tenant and for all; one that is given back is free once', () => {
    const { feed, wakes } = feedOf({ perTenantMax: 2, perGatewayMax: 3 });
    const first = feed.take('a');
    feed.take('a');
    expect(() => feed.take('a')).toThrow(/2 of the tenant/);
    feed.take('b');
    expect(() => feed.take('c')).toThrow(/3 in all/);
    // What found no place is not followed either.
    expect(wakes.calls.splice(0)).toEqual(['follow a', 'follow b', 'follow c', 'unfollow c']);
    first.leave();
    first.leave();
    expect(feed.places).toBe(2);
    feed.take('c');
    expect(() => feed.take('c')).toThrow(/3 in all/);
  });

  test('without a follower cost nothing: no subscription, and no look at the log', async () => {
    const { feed, wakes, timers, log } = feedOf();
    const { seen, follower: one } = follower();
    const place = feed.take('a');
    place.join(one);
    log.last = 4;
    await timers.advance(1_000);
    await turn();
    expect(seen).toEqual([0, 4]);
    place.leave();
    wakes.listener!.onWake('a', 9);
    await timers.advance(10_000);
    expect([seen, log.reads, timers.pending, wakes.calls]).toEqual([[0, 4], 1, 0, ['follow a', 'unfollow a']]);
  });

  test('end their followers when the log began anew, and when the gateway stops', async () => {
    const { feed, timers, wakes, log } = feedOf();
    const [one, other] = [follower(), follower()];
    feed.take('a').join(one.follower);
    wakes.listener!.onWake('a', 9);
    log.last = 2;
    await timers.advance(1_000);
    await turn();
    expect(one.seen).toEqual([0, 9, 'end']);
    feed.take('b').join(other.follower);
    feed.stop();
    expect([other.seen, timers.pending, wakes.calls.at(-1)]).toEqual([[0, 'end'], 0, 'close']);
    expect(() => feed.take('a')).toThrow(/the gateway stops/);
  });
});

describe('a stream', () => {
  const textOf = async (stream: EventStream) => (await stream.next()).value ?? 'over';

  test('gives what is new, and is cut when its reader takes nothing for its time', async () => {
    const { stream, log, wakes, timers, caller, feed } = feedOf();
    const reader = stream();
    expect(await textOf(reader)).toContain('id: 0');
    // A reader that asks again in time is not cut.
    await timers.advance(29_000);
    const more = textOf(reader);
    log.last = 1;
    wakes.listener!.onWake('t', 1);
    expect(await more).toContain('id: 1\nevent: wallet.created');
    await timers.advance(29_999);
    expect(caller.cuts).toBe(0);
    await timers.advance(1);
    expect([caller.cuts, feed.places, timers.pending]).toEqual([1, 0, 0]);
  });

  test('ends when its token is no longer valid, and leaves no timer', async () => {
    const { stream, timers, caller } = feedOf();
    const reader = stream();
    await textOf(reader);
    const more = textOf(reader);
    caller.admitted = false;
    await timers.advance(30_000);
    await turn();
    expect(await more).toContain('heartbeat');
    expect(await textOf(reader)).toBe('over');
    await reader.return();
    expect(timers.pending).toBe(0);
  });

  test.each([
    [5, 'id: 5'],
    [6, 'over'],
  ])('whose next event may be gone (the log begins at %i) gets: %s', async (floor, expected) => {
    const { stream, log, wakes } = feedOf();
    Object.assign(log, { last: 7, floor });
    const reader = stream(4);
    await textOf(reader);
    const more = textOf(reader);
    wakes.listener!.onWake('t', 7);
    expect(await more).toContain(expected);
  });
});
