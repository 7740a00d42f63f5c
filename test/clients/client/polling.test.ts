/** Waiting by reading again: until the result is there, can no longer come, or the deadline passes. */
import { describe, expect, test } from 'vitest';
import { finalStatuses, IntentEndedError, WaitTimedOutError } from '../../../clients/client/index.ts';
import { json, virtualClient } from './support.ts';

const intent = { id: 'txi_1', wallet_id: 'wal_1' };

/** The intent has these statuses, one for each read; the last stays. */
function reads(...statuses: string[]) {
  let count = 0;
  const fetch = async (): Promise<Response> => {
    return json(200, { ...intent, status: statuses[Math.min(count++, statuses.length - 1)], provider_error: null });
  };
  return { ...virtualClient(fetch as never), count: () => count };
}

describe('an intent', () => {
  test('is read until it is there, at growing intervals', async () => {
    const { client, settle, time, count } = reads('created', 'signing', 'signing', 'completed');
    expect(await settle(client.waitFor(intent))).toMatchObject({ status: 'completed' });
    expect(count()).toBe(4);
    expect(time.nowMs()).toBeLessThan(400);
  });

  test('in another status that the caller names is there too', async () => {
    const { client, settle } = reads('created', 'pending_approval');
    const until = ['pending_approval', 'completed'] as const;
    expect(await settle(client.waitFor(intent, { until: [...until] }))).toMatchObject({ status: 'pending_approval' });
  });

  test.each([...finalStatuses].filter((status) => status !== 'completed'))(
    'that is %s ends the wait',
    async (status) => {
      const { client, settle, count } = reads('signing', status);
      await expect(settle(client.waitFor(intent))).rejects.toBeInstanceOf(IntentEndedError);
      expect(count()).toBe(2);
    },
  );
});

describe('the deadline', () => {
  test('ends a wait exactly then, with the last value', async () => {
    const { client, settle, time } = virtualClient((async () => json(200, {})) as never);
    const error = await settle(
      client.waitUntil(
        async () => 7,
        () => false,
        { deadlineMs: 1_000 },
      ),
    ).catch((e) => e);
    expect(error).toBeInstanceOf(WaitTimedOutError);
    expect([error.last, time.nowMs(), time.pending]).toEqual([7, 1_000, 0]);
  });

  test('the caller’s signal ends the read as well', async () => {
    const caller = new AbortController();
    const fetch = (_: unknown, { signal }: { signal: AbortSignal }) => {
      queueMicrotask(() => caller.abort(new Error('enough')));
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const { client, settle, time } = virtualClient(fetch as never);
    const ended = settle(client.waitFor(intent, { signal: caller.signal })).catch((error) => error);
    expect(await ended).toMatchObject({ message: 'enough' });
    expect(time.nowMs()).toBeLessThan(1_000);
  });
});
