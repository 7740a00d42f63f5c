/**
 * `signmesh health ROLE`: what a container's health check runs, beside the process it asks about. The gateway answers
 * for the cluster behind it; of the coordinator it is enough that it takes connections; a node, which listens nowhere,
 * is healthy while it can reach its coordinator; a worker, which has no port either, writes a heartbeat to Redis.
 */
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { exitCodes, Failure } from './common/failure.ts';
import { required, type Settings } from './settings/config.ts';

const timeoutMs = 3000;

export async function probe(role: string, settings: Settings): Promise<number> {
  if (role === 'coordinator') return takesConnections('127.0.0.1', settings.SIGNMESH_COORDINATOR_PORT);
  if (role === 'node') {
    const url = new URL(required(settings, 'SIGNMESH_COORDINATOR_URL')[0]!);
    return takesConnections(url.hostname, Number(url.port || (url.protocol === 'wss:' ? 443 : 80)));
  }
  if (role === 'gateway') return answersOk(`http://127.0.0.1:${settings.SIGNMESH_HTTP_PORT}/v1/health`);
  if (role === 'worker') return leavesWord(required(settings, 'REDIS_URL'));
  throw new Failure(`health: "${role}" is none of coordinator, node, gateway, worker.`, exitCodes.usage);
}

async function answersOk(url: string): Promise<number> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    return response.ok ? exitCodes.ok : exitCodes.failed;
  } catch {
    return exitCodes.failed;
  }
}

async function leavesWord(redisUrl: string): Promise<number> {
  const { heartbeatKey } = await import('../gateway/heartbeat.ts');
  const { withRedis } = await import('./redis/redis-address.ts');
  const word = await withRedis(redisUrl, (redis) => redis.get(heartbeatKey(hostname()))).catch(() => null);
  return word === null ? exitCodes.failed : exitCodes.ok;
}

function takesConnections(host: string, port: number): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    const end = (code: number) => {
      socket.destroy();
      resolve(code);
    };
    socket.setTimeout(timeoutMs, () => end(exitCodes.failed));
    socket.once('connect', () => end(exitCodes.ok)).once('error', () => end(exitCodes.failed));
  });
}
