/**
 * The references for the wallet API: a bare Fastify route that answers a small JSON object, in a separate process
 * (bare-server.ts), and a bare Redis GET of a record's size.
 */
import { Redis } from 'ioredis';
import { httpClient } from '../../../clients/load/calls/http.ts';
import { cpuSeconds } from '../../../clients/load/measure/processes.ts';
import { type LoadResult, runLoad } from '../load/load.ts';
import { withChild } from './child.ts';

export interface BareRates {
  readonly fastify: readonly RouteRate[];
  readonly redis: readonly LoadResult[];
}

export interface RouteRate extends LoadResult {
  /** CPU milliseconds of the server's process for one request. */
  readonly cpuMsEach: number;
}

const recordBytes = 1000;

export async function bareRates(redisUrl: string, inFlights: readonly number[], countMs: number): Promise<BareRates> {
  const fastify: RouteRate[] = [];
  const redis: LoadResult[] = [];
  for (const inFlight of inFlights) {
    fastify.push(await fastifyRate(inFlight, countMs));
    redis.push(await redisRate(redisUrl, inFlight, countMs));
  }
  return { fastify, redis };
}

export function fastifyRate(inFlight: number, countMs: number): Promise<RouteRate> {
  return withChild('bare-server', async (port: number, pid) => {
    const client = httpClient(`http://127.0.0.1:${port}`, 'none', inFlight);
    const ceremony = async () => {
      const { status } = await client.send('GET', '/');
      if (status !== 200) throw new Error(`HTTP ${status}`);
    };
    const used = () => cpuSeconds({ server: pid }).server ?? 0;
    let [before, after] = [0, 0];
    const onCounting = () => {
      before = used();
    };
    const onCounted = () => {
      after = used();
    };
    const result = await runLoad({ inFlight, warmMs: countMs / 2, countMs, ceremony, onCounting, onCounted });
    await client.close();
    return { ...result, cpuMsEach: (1000 * (after - before)) / Math.max(1, result.completed) };
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
