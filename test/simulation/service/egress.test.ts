/**
 * One suite for the port of egress: real connections, as a worker process and an embedded service make them, and the receivers
 * of a simulated world.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { RealEgress } from '../../../simulation/embedded/egress.ts';
import { PacedTime } from '../../../simulation/embedded/paced-time.ts';
import { Receivers } from '../../../simulation/service/receivers.ts';
import type { Send } from '../../../wallets/delivery/egress/public.ts';
import { sendTo } from '../../../wallets/delivery/egress/send.ts';
import { loneLife } from './support/lives.ts';

/** What a receiver does with a request. `refuse`: nothing listens. */
type Behaviour = { readonly status: number; readonly retryAfter?: string } | 'never' | 'reset' | 'refuse';

interface Seen {
  readonly body: string;
  readonly id: string | undefined;
}

interface World {
  /** A receiver's URL. */
  receiver(behaviour: Behaviour): Promise<string>;
  readonly seen: Seen[];
  send: Send;
  stop(): Promise<void>;
}

const wayMs = 3;

function simulated(): World {
  let isRefused = false;
  const { life, time, loop } = loneLife(undefined, () => (isRefused ? { fate: 'refused' } : undefined));
  const receivers = new Receivers(time, wayMs);
  const seen: Seen[] = [];
  receivers.listen(({ body, headers }) => seen.push({ body, id: headers['webhook-id'] }));
  const send = receivers.sender(life);
  return {
    seen,
    receiver: async (behaviour) => {
      const url = `http://127.0.0.1:9/${String(Math.random()).slice(2)}`;
      isRefused = behaviour === 'refuse';
      if (behaviour === 'never' || behaviour === 'reset') receivers.answer(url, [behaviour]);
      else if (behaviour === 'refuse') return url;
      else if (behaviour.retryAfter === undefined) receivers.answer(url, [behaviour.status]);
      else
        receivers.attend(url, async () => {
          time.woken();
          return behaviour;
        });
      return url;
    },
    send: (request) => loop.result(send(request), 60_000),
    stop: async () => undefined,
  };
}

function real(send: Send, stop: () => Promise<void>): World {
  const servers: Server[] = [];
  const seen: Seen[] = [];
  const listen = async (server: Server): Promise<string> => {
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  };
  const close = async (server: Server) => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return {
    seen,
    send,
    receiver: async (behaviour) => {
      const server = createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const id = request.headers['webhook-id'];
          seen.push({ body: Buffer.concat(chunks).toString(), id: typeof id === 'string' ? id : undefined });
          if (behaviour === 'reset') request.socket.destroy();
          else if (typeof behaviour === 'object') {
            const { status, retryAfter } = behaviour;
            response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
          }
        });
      });
      const url = await listen(server);
      if (behaviour === 'refuse') await close(servers.pop()!);
      return url;
    },
    stop: async () => {
      await Promise.all(servers.map(close));
      await stop();
    },
  };
}

const worlds: Readonly<Record<string, () => World>> = {
  'a worker process': () =>
    real(
      (request) => sendTo(request, { environment: 'sandbox' }),
      async () => undefined,
    ),
  'an embedded service': () => {
    const time = new PacedTime();
    const egress = new RealEgress();
    const stop = async () => {
      time.stop();
      await egress.stop();
    };
    return real(egress.sender(loneLife(time).life), stop);
  },
  'a simulated world': simulated,
};

describe.each(Object.keys(worlds))('egress of %s', (name) => {
  let world: World;
  const open = (): World => {
    world = worlds[name]!();
    return world;
  };
  afterEach(() => world.stop());

  const body = '{"type":"wallet.created","ü":1}';
  const request = (url: string, timeoutMs = 5_000) => ({
    url,
    headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' },
    body: Buffer.from(body),
    timeoutMs,
  });

  test.each([200, 204, 307, 404, 410, 500])(
    'tells the status %i, whatever it is, once for one request',
    async (status) => {
      const { send, receiver, seen } = open();
      const outcome = await send(request(await receiver({ status })));
      expect(outcome).toMatchObject({ kind: 'answered', status, retryAfter: undefined, tookMs: expect.any(Number) });
      expect(outcome.tookMs).toBeGreaterThanOrEqual(0);
      expect(seen).toEqual([{ body, id: 'evt_1' }]);
    },
  );

  test('hands on when a receiver asks to come back, and its answer', async () => {
    const { send, receiver } = open();
    const outcome = await send(request(await receiver({ status: 429, retryAfter: '7' })));
    const answer = { headers: { 'retry-after': '7' }, body: '', truncated: false };
    expect(outcome).toMatchObject({ kind: 'answered', status: 429, retryAfter: '7', answer });
  });

  test.each([
    ['refuse', 'connection_refused', 0],
    ['reset', 'connection_reset', 1],
  ] as const)('a receiver that does "%s" is a failure with the code %s', async (behaviour, code, requests) => {
    const { send, receiver, seen } = open();
    const outcome = await send(request(await receiver(behaviour)));
    expect(outcome).toMatchObject({ kind: 'failed', code, message: expect.any(String), tookMs: expect.any(Number) });
    expect(seen).toHaveLength(requests);
  });

  test('a receiver that never answers is a timeout, after the time that the request has and not before', async () => {
    const { send, receiver } = open();
    const outcome = await send(request(await receiver('never'), 60));
    expect(outcome).toMatchObject({ kind: 'failed', code: 'timeout' });
    expect(outcome.tookMs).toBeGreaterThanOrEqual(58);
  });
});
