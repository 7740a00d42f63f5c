/** Many finished transfers of one wallet, on both sides, written as the product writes one. */
import { systemRandom } from '../../../../../core/actors/live/ports.ts';
import { newId } from '../../../../../proto/ids.ts';
import { type IntentRecord, intentType } from '../../../../../wallets/custody/intents/record.ts';
import type { ProviderKind } from '../../../../../wallets/providers/port/kinds.ts';
import { RedisCustodianBooks } from '../../../../../wallets/providers/simulated/redis-custodian-books.ts';
import { create } from '../../../../../wallets/store/changes.ts';
import type { ReconService, View } from './service.ts';

const batch = 200;

export interface Seeded {
  readonly tenant: string;
  /** Ids of transfers that the provider does not show. */
  readonly missing: ReadonlySet<string>;
}

/** Copies of `like`, a completed transfer; every `missingEvery`th is not in the provider's book. */
export async function seedTransfers(
  recon: ReconService,
  wallet: View,
  like: View,
  count: number,
  missingEvery: number,
): Promise<Seeded> {
  const { redis } = recon.service;
  const [key] = await redis.keys(`sm:{t:*}:r:${like.id}`);
  const tenant = /\{t:(.*)\}/.exec(key!)![1]!;
  const books = new RedisCustodianBooks(redis, wallet.provider as ProviderKind);
  const held = wallet.provider_wallet_id as string;
  const record = (await recon.deps.store.read(tenant, intentType, like.id))!;
  const [row] = await books.find(tenant, held, [`out:${like.id}`]);
  const missing = new Set<string>();
  const nowMs = recon.deps.clock.nowMs();
  for (let made = 0; made < count; made += batch) {
    const copies = Array.from({ length: Math.min(batch, count - made) }, (): IntentRecord => {
      return { ...record, id: newId('txi', nowMs, systemRandom), version: 1 };
    });
    const outcome = await recon.deps.store.commit(tenant, { puts: copies.map((copy) => create(intentType, copy)) });
    if (!outcome.committed) throw new Error('the copies were not committed');
    await Promise.all(
      copies.map(async ({ id }, index) => {
        if ((made + index) % missingEvery === 0) missing.add(id);
        else
          await books.post(
            tenant,
            held,
            { name: `out:${id}`, row: { ...row!, id: `c-${id}`, reference: id } },
            undefined,
          );
      }),
    );
  }
  return { tenant, missing };
}
