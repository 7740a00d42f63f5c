/** The ledgers of all simulated chains in one Redis. */
import type { Redis } from 'ioredis';
import type { ChainLedgers } from './ledger.ts';
import { RedisBitcoinLedger } from './redis-bitcoin-ledger.ts';
import { RedisEvmLedger } from './redis-evm-ledger.ts';
import { RedisSolanaLedger } from './redis-solana-ledger.ts';

export function redisLedgers(redis: Redis): ChainLedgers {
  return {
    evm: (network) => new RedisEvmLedger(redis, network),
    bitcoin: (network) => new RedisBitcoinLedger(redis, network),
    solana: (network) => new RedisSolanaLedger(redis, network),
  };
}
