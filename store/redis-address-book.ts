/**
 * Which wallet an address belongs to, over all tenants. An entry is written before its wallet is committed and stays for
 * ever: an address without a wallet is harmless, a wallet that cannot be found would lose a transfer.
 */
import type { Redis } from 'ioredis';
import { asking } from './asking-redis.ts';
import type { AddressBook, AddressOwner } from './contract.ts';
import { storeKeys } from './layout.ts';

/** Addresses are compared as they are: hand them in in one spelling (networks have their canonical form). */
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
