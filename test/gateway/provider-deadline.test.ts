/** A custodian that never answers holds no request of a client: the whole wallet API over Redis, with a deadline of its own. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Timers } from '../../core/actors/contract.ts';
import { systemTimers } from '../../core/actors/live/ports.ts';
import { startWalletService, type WalletService } from '../support/wallet-service.ts';

let service: WalletService;
const providerTimeoutMs = 12_345;
/** Requests to custodians that got no answer; each has taken effect. */
let unanswered = 0;
let isSilent = false;
/** Of the requests that wait for a custodian. */
const deadlines = new Set<() => void>();
/** A deadline passes when a custodian is silent, and otherwise never: on a busy machine custodians answer late. */
const timers: Timers = {
  ...systemTimers,
  start: (afterMs, run) => {
    if (afterMs !== providerTimeoutMs) return systemTimers.start(afterMs, run);
    deadlines.add(run);
    return () => deadlines.delete(run);
  },
};

beforeAll(async () => {
  service = await startWalletService({
    providerTimeoutMs,
    ports: ({ custodianRecords }) => ({
      timers,
      custodianRecords: (kind) => {
        const records = custodianRecords(kind);
        return {
          find: (...of) => records.find(...of),
          putOnce: async (...of) => {
            const made = await records.putOnce<(typeof of)[3]>(...of);
            if (!isSilent) return made as never;
            unanswered += 1;
            for (const pass of deadlines) pass();
            return new Promise<never>(() => undefined);
          },
        };
      },
    }),
  });
});
afterAll(() => service?.stop());

it('says 503 at the deadline, and a repeat with the key finds the wallet that the custodian made', async () => {
  const credentials = { api_key: 'k', private_key: 'p' };
  const connection = await service.call('POST', '/v1/provider-connections', {
    body: { provider: 'fireblocks', name: 'fire', credentials },
  });
  const body = { name: 'one', provider_connection_id: connection.body.id, network: 'eip155:11155111' };
  const create = () => service.call('POST', '/v1/wallets', { body, headers: { 'idempotency-key': 'one' } });
  isSilent = true;
  const late = await create();
  expect([late.status, late.headers['retry-after'], late.body.error]).toMatchObject([
    503,
    '1',
    {
      code: 'provider_unavailable',
      message: 'fireblocks is not available: no answer within 12345 ms; whether the request took effect is unknown',
      details: [{ issue: 'outcome_unknown', message: expect.stringContaining('same Idempotency-Key') }],
    },
  ]);
  isSilent = false;
  const made = await create();
  expect([made.status, unanswered]).toEqual([201, 1]);
  const another = await service.call('POST', '/v1/wallets', { body });
  // The custodian numbers its vaults: the late one is the first.
  expect([made.body.provider_wallet_id, another.body.provider_wallet_id]).toEqual(['1', '2']);
  const { wallets } = (await service.call('GET', '/v1/wallets')).body;
  expect(wallets.map(({ id }: { id: string }) => id)).toEqual([another.body.id, made.body.id]);
});
