/** A process that gets a job again while it is working on it makes one try. */
import { expect, test } from 'vitest';
import { silentLog, systemPorts } from '../../../../core/actors/live/ports.ts';
import { Deliverer, type DelivererDeps } from '../../../../wallets/delivery/deliveries/deliver.ts';

test('a job that comes again during its try joins it; after its end it is another one', async () => {
  const reads: (() => void)[] = [];
  const released: string[] = [];
  const deps = {
    ...{ ...systemPorts, log: silentLog, version: '1' },
    store: { read: () => new Promise((resolve) => reads.push(() => resolve(undefined))) },
    hooks: { release: async (_tenant: string, _webhook: string, id: string) => released.push(id) },
  } as unknown as DelivererDeps;
  const deliverer = new Deliverer(deps);
  const job = { tenant: 'tn_1', webhookId: 'whk_1', deliveryId: 'dlv_1', tries: 0, sequence: 1 };
  const both = [deliverer.deliver(job), deliverer.deliver({ ...job })];
  // Each try reads the delivery and its webhook.
  expect(reads).toHaveLength(2);
  const next = deliverer.deliver({ ...job, tries: 1 });
  expect(reads).toHaveLength(4);
  for (const read of reads.splice(0)) read();
  await Promise.all([...both, next]);
  expect(released).toEqual(['dlv_1', 'dlv_1']);
  const later = deliverer.deliver(job);
  expect(reads).toHaveLength(2);
  for (const read of reads.splice(0)) read();
  await later;
  expect(released).toHaveLength(3);
});
