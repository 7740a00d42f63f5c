/** Connections of clients in the simulated world: streams, gateways that die, clients that leave. */
import { beforeAll, describe, expect, test } from 'vitest';
import { allScopes } from '../../../gateway/api/scopes.ts';
import type { Client } from '../../../simulation/service/client.ts';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import type { Answered, Exchange } from '../../../simulation/service/exchange.ts';

const connection = { provider: 'self_hosted', name: 'ours', credentials: {} };

describe('a stream of events in the simulated world', () => {
  let world: CustodyWorld;
  let client: Client;
  let headers: Readonly<Record<string, string>>;

  beforeAll(async () => {
    world = new CustodyWorld({ seed: 'exchange', cryptography: 'model', codec: 'none', keepTrace: false });
    const request = { tenant: 'tn_world', environment: 'sandbox', scopes: allScopes } as const;
    const token = await world.run(world.token(request));
    client = world.client(token);
    headers = { authorization: `Bearer ${token}` };
  });

  async function follow(): Promise<{ readonly exchange: Exchange; readonly answer: Answered }> {
    const exchange = world.connect('gateway', { method: 'GET', target: '/v1/events/stream', headers });
    const answer = await world.run(exchange.answer);
    expect(answer).toMatchObject({
      status: 200,
      body: '',
      headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    });
    return { exchange, answer: answer! };
  }

  const until = (answer: Answered, text: string) =>
    world.run(
      (async () => {
        for (let all = ''; ; ) {
          const piece = await answer.pieces!.next();
          if (piece === undefined) return all;
          all += piece;
          if (all.includes(text)) return all;
        }
      })(),
    );

  test('brings each event as it happens, until its client leaves', async () => {
    const { exchange, answer } = await follow();
    expect(await until(answer, 'heartbeat')).toContain('retry: 1000');
    expect(await world.run(client.call('POST', '/v1/provider-connections', connection))).toMatchObject({ status: 201 });
    expect(await until(answer, 'data:')).toContain('event: provider_connection.created');
    exchange.leave();
    exchange.leave();
    await world.advance(10);
    await world.run(client.call('POST', '/v1/provider-connections', connection));
    let more = false;
    void answer.pieces!.next().then(() => {
      more = true;
    });
    await world.advance(60_000);
    expect(more).toBe(false);
  });

  test('is cut when the gateway dies; what is down refuses connections', async () => {
    const { answer } = await follow();
    await until(answer, 'heartbeat');
    world.cluster.crash('gateway');
    await expect(until(answer, 'nothing has this text')).rejects.toThrow('the connection was lost');
    const refused = world.connect('gateway', { method: 'GET', target: '/v1/health' });
    expect([await world.run(refused.answer), refused.wasRefused]).toEqual([undefined, true]);
    world.cluster.start('gateway');
    const lost = world.connect('gateway', { method: 'GET', target: '/v1/events', headers });
    world.cluster.time.after(2, () => world.cluster.crash('gateway', { restartAfterMs: 100 }));
    expect([await world.run(lost.answer), lost.wasRefused]).toEqual([undefined, false]);
    expect(() => world.connect('worker', { method: 'GET', target: '/' })).toThrow('there is no gateway worker');
  });
});
