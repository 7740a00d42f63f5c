/**
 * The references for the wallet API: a bare Fastify route that answers a small JSON object, in a separate process
 * (bare-server.ts), and a bare Redis GET of a record's size.
 */
import { Redis } from 'ioredis';
import { httpClient } from '../../../clients/load/calls/http.ts';
import { type LoadResult, runLoad } from '../load/load.ts';
import { withChild } from './child.ts';

export interface BareRates {
  readonly fastify: readonly LoadResult[];
  readonly redis: readonly LoadResult[];
}

const recordBytes = 1000;

export async function bareRates(redisUrl: string, inFlights: readonly number[], countMs: number): Promise<BareRates> {
  const fastify: LoadResult[] = [];
  const redis: LoadResult[] = [];
  for (const inFlight of inFlights) {
    fastify.push(await fastifyRate(inFlight, countMs));
    redis.push(await redisRate(redisUrl, inFlight, countMs));
  }
  return { fastify, redis };
}

function fastifyRate(inFlight: number, countMs: number): Promise<LoadResult> {
  return withChild('bare-server', async (port: number) => {
    const client = httpClient(`http://127.0.0.1:${port}`, 'none', inFlight);
    const ceremony = async () => {
      const { status } = await client.send('GET', '/');
      if (status !== 200) throw new Error(`HTTP ${status}`);
    };
    const result = await runLoad({ inFlight, warmMs: countMs / 2, countMs, ceremony });
    await client.close();
    return result;
  });
}

/** One command at a time for each caller; over one connection, as in the gateway. */
async function redisRate(url: string, inFlight: number, countMs: number): Promise<LoadResult> {
  const redis = new Redis(url, { enableAutoPipelining: true });
  try {
    await redis.set('bench', 'x'.repeat(recordBytes));
    const ceremony = async () => {
      await redis.get('bench');
    };
    return await runLoad({ inFlight, warmMs: countMs / 4, countMs, ceremony });
  } finally {
    redis.disconnect();
  }
}
