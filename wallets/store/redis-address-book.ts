/**
 * Maps addresses to wallets, over all tenants. The gateway writes an entry before it commits the wallet, and it stays
 * forever: an address without a wallet is harmless, a wallet without an entry would lose a transfer.
 */
import type { Redis } from 'ioredis';
import { asking } from './asking-redis.ts';
import type { AddressBook, AddressOwner } from './contract.ts';
import { storeKeys } from './layout.ts';

/** Compares addresses exactly: pass them in one spelling (networks have their canonical form). */
export class RedisAddressBook implements AddressBook {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async register(network: string, address: string, { tenant, walletId }: AddressOwner): Promise<void> {
    await asking(this.#redis.setnx(storeKeys.address(network, address), `${tenant} ${walletId}`));
  }

  async ownerOf(network: string, address: string): Promise<AddressOwner | undefined> {
    const owner = await asking(this.#redis.get(storeKeys.address(network, address)));
    if (owner === null) return undefined;
    const gap = owner.indexOf(' ');
    return { tenant: owner.slice(0, gap), walletId: owner.slice(gap + 1) };
  }
}
