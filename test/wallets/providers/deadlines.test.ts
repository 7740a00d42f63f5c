/** Deadlines of requests to providers: what fails, what it says, and what a repeat finds. */
import { expect, it } from 'vitest';
import { adaptersInTime, deadlineOf, receivingInTime, venueInTime } from '../../../wallets/providers/deadlines.ts';
import type { Venue } from '../../../wallets/providers/market/public.ts';
import type { ProviderAdapter } from '../../../wallets/providers/port/port.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

const never = () => new Promise<never>(() => undefined);
const silent = (hosting: ProviderAdapter['info']['hosting']) =>
  ({
    info: { kind: 'fireblocks', hosting },
    ...{ connect: never, createWallet: never, quote: never, advance: never },
  }) as unknown as ProviderAdapter;

/** How a request stands when the deadline has passed. */
async function standing(timers: VirtualTimers, work: Promise<unknown>): Promise<unknown> {
  let outcome: unknown = 'waiting';
  work.then(
    (value) => {
      outcome = value;
    },
    (error: unknown) => {
      outcome = error;
    },
  );
  await timers.advance(99);
  expect(outcome).toBe('waiting');
  await timers.advance(1);
  return outcome;
}

it('end the requests of a silent provider; the outcome of one that may have changed something is unknown', async () => {
  const timers = new VirtualTimers();
  const inTime = deadlineOf(timers, 100);
  const adapter = adaptersInTime(new Map([['fireblocks', silent('hosted')]]), inTime).get('fireblocks')!;
  const venue = venueInTime({ terms: {}, trade: never, settle: never } as unknown as Venue, inTime);
  const books = receivingInTime({ fireblocks: { receive: never } }, inTime);
  const asked = {} as never;
  const requests: readonly (readonly [boolean, () => Promise<unknown>])[] = [
    [false, () => adapter.connect(asked, '', asked, 'sandbox', false)],
    [false, () => adapter.quote(asked, asked)],
    [true, () => adapter.createWallet(asked, asked, asked)],
    [true, () => venue.trade(asked, asked)],
    [true, () => venue.settle(asked, asked)],
    [true, () => books.fireblocks.receive('', asked)],
  ];
  for (const [outcomeUnknown, request] of requests) {
    expect(await standing(timers, request())).toMatchObject({
      ...{ name: 'ProviderUnavailable', message: 'no answer within 100 ms', retryAfterMs: 1_000, outcomeUnknown },
    });
  }
  expect(timers.pending).toBe(0);
});

it('leave answers in time, refusals, and the calls of the signer cluster alone', async () => {
  const timers = new VirtualTimers();
  const inTime = deadlineOf(timers, 100);
  expect(await inTime(Promise.resolve('made'), true)).toBe('made');
  await expect(inTime(Promise.reject(new Error('refused')), true)).rejects.toThrow('refused');
  expect(timers.pending).toBe(0);
  const ours = adaptersInTime(new Map([['self_hosted', silent('self_hosted')]]), inTime).get('self_hosted')!;
  expect(await standing(timers, ours.createWallet({} as never, {} as never, {} as never))).toBe('waiting');
});
