/** The work of a Redis since its start, by its own counters (INFO): two readings give the work between them. */
import type { Redis } from 'ioredis';

export interface RedisUse {
  /** Every command, including those of scripts. */
  readonly commands: number;
  /** The number of script runs. */
  readonly scripts: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export async function redisUse(redis: Pick<Redis, 'info'>): Promise<RedisUse> {
  const [stats, commands] = await Promise.all([redis.info('stats'), redis.info('commandstats')]);
  const calls = [...commands.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name = '', count]) => ({
    name,
    count: Number(count),
  }));
  const sum = (kept: (name: string) => boolean) =>
    calls.reduce((total, { name, count }) => (kept(name) ? total + count : total), 0);
  const stat = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  return {
    commands: sum(() => true),
    scripts: sum((name) => name === 'evalsha' || name === 'eval'),
    bytesIn: stat('total_net_input_bytes'),
    bytesOut: stat('total_net_output_bytes'),
  };
}

/** For one of this many ceremonies. */
export function useEach(before: RedisUse, after: RedisUse, ceremonies: number): RedisUse {
  const each = (name: keyof RedisUse) => (after[name] - before[name]) / Math.max(1, ceremonies);
  return { commands: each('commands'), scripts: each('scripts'), bytesIn: each('bytesIn'), bytesOut: each('bytesOut') };
}
