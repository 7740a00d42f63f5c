/**
 * `signmesh health ROLE`: a container's health check runs it, beside the process that it checks. The gateway answers for the
 * cluster behind it; the coordinator only has to accept connections; a node, which does not listen, is healthy while it can reach
 * its coordinator; a worker, which has no port either, writes a heartbeat to Redis.
 */
import { get as getPlain } from 'node:http';
import { get as getOverTls } from 'node:https';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { exitCodes, Failure } from './common/failure.ts';
import { reachable } from './common/gateway-health.ts';
import { required, type Settings } from './settings/config.ts';

const timeoutMs = 3000;

export async function probe(role: string, settings: Settings): Promise<number> {
  if (role === 'coordinator') {
    return takesConnections(reachable(settings.SIGNMESH_COORDINATOR_HOST), settings.SIGNMESH_COORDINATOR_PORT);
  }
  if (role === 'node') {
    const url = new URL(required(settings, 'SIGNMESH_COORDINATOR_URL')[0]!);
    return takesConnections(url.hostname, Number(url.port || (url.protocol === 'wss:' ? 443 : 80)));
  }
  if (role === 'gateway') {
    const { SIGNMESH_HTTP_HOST: host, SIGNMESH_HTTP_PORT: port, SIGNMESH_TLS_CLIENT_CA: clientCa } = settings;
    // An API server that requires client certificates does not answer this probe: listening is enough.
    if (clientCa !== undefined) return takesConnections(reachable(host), port);
    return answersOk(
      `${settings.SIGNMESH_TLS_CERT === undefined ? 'http' : 'https'}://${reachable(host)}:${port}/v1/health`,
    );
  }
  if (role === 'worker') return leavesWord(required(settings, 'REDIS_URL'));
  throw new Failure(`health: "${role}" is none of coordinator, node, gateway, worker.`, exitCodes.usage);
}

/** The certificate names the server's public host, maybe not this address: the probe sends no secret, and accepts any. */
function answersOk(url: string): Promise<number> {
  const options = { timeout: timeoutMs, rejectUnauthorized: false, agent: false };
  return new Promise((resolve) => {
    const ask = url.startsWith('https:') ? getOverTls : getPlain;
    const request = ask(url, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200 ? exitCodes.ok : exitCodes.failed);
    });
    request.once('timeout', () => request.destroy());
    request.once('error', () => resolve(exitCodes.failed));
  });
}

async function leavesWord(redisUrl: string): Promise<number> {
  const { heartbeatKey } = await import('../gateway/worker-heartbeat.ts');
  const { withRedis } = await import('./redis/redis-address.ts');
  const word = await withRedis(redisUrl, (redis) => redis.get(heartbeatKey(hostname()))).catch(() => null);
  return word === null ? exitCodes.failed : exitCodes.ok;
}

function takesConnections(host: string, port: number): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, bare(host));
    const end = (code: number) => {
      socket.destroy();
      resolve(code);
    };
    socket.setTimeout(timeoutMs, () => end(exitCodes.failed));
    socket.once('connect', () => end(exitCodes.ok)).once('error', () => end(exitCodes.failed));
  });
}

/** Without the brackets of a URL. */
function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
