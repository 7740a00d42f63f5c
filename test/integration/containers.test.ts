/**
 * docker-compose.yml, run: the image is built from the Dockerfile, every service runs as a container with links over TLS, and
 * the doors serve a signature and a transfer, also after a container was killed. It takes minutes: `npm test -- --thorough`.
 */
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { httpApi } from '../support/client.ts';
import { Composed, containerEngine } from '../support/containers.ts';
import { RestClient } from '../support/rest.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { finishSigning, type Key, makeKey, openSigning } from '../survival/support/ceremonies.ts';
import { Ledger } from '../survival/support/ledger.ts';

const engine = containerEngine();
const why = !isThorough ? 'not a thorough run' : engine === undefined ? 'no docker or podman runs here' : undefined;
const url = 'http://127.0.0.1:8080';
const minutes = 60_000;

describe.skipIf(why !== undefined)(
  `docker-compose.yml in containers${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const ledger = new Ledger();
    let composed: Composed;
    let token = '';
    let key: Key;
    const client = (at = url) => ({ api: httpApi({ baseUrl: at, token, timeoutMs: minutes }), ledger });
    const health = async (at = url) =>
      (await (await fetch(`${at}/v1/health`)).json()) as { status: string; nodes_ready: number };
    const sign = async (intentId: string, signer = key, at = url) => {
      const message = new Uint8Array(32).fill(7);
      const session = await openSigning(client(at), { key: signer, scheme: 'ed25519', intentId, message });
      await finishSigning(client(at), session);
    };
    const call = async (method: 'GET' | 'POST', path: string, body?: object, at = url) => {
      const answer = await new RestClient(at, token).call<Record<'id' | 'status', string>>(method, path, body);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    };

    beforeAll(async () => {
      composed = new Composed(engine!, {
        SIGNMESH_REDIS_PASSWORD: 'a-password-of-a-test',
        SIGNMESH_SEED: 'containers',
      });
      composed.build();
      composed.up();
      await until(
        async () => (await health()).status === 'ok',
        () => `health; the gateway says ${composed.logs('gateway')}; the coordinator ${composed.logs('coordinator')}`,
        500,
      );
      token = (JSON.parse(composed.exec('gateway', 'cat', '/data/sandbox.json')) as { token: string }).token;
      key = await makeKey(client(), { sessionId: 'composed', curve: 'ed25519' });
    }, 90 * minutes);
    afterAll(() => composed?.down(), 10 * minutes);
    afterEach(() => expect(ledger.violations).toEqual([]));

    const transfer = async (at = url) => {
      const own = { type: 'self_hosted', name: 'own', credentials: {} };
      const connection = await call('POST', '/v1/providers/connect', own, at);
      const order = { name: 'w', provider_connection_id: connection.id, network: 'eip155:11155111' };
      const wallet = await call('POST', '/v1/wallets', order, at);
      const destination = { address: '0x00000000000000000000000000000000000b0b00' };
      const path = `/v1/wallets/${wallet.id}/transaction-intents`;
      const intent = await call('POST', path, { asset: 'ETH', amount: '0.00001', destination }, at);
      const ended = async () => (await call('GET', `${path}/${intent.id}`, undefined, at)).status === 'completed';
      await until(ended, 'the transfer is completed', 500);
    };

    test('signs through its door, and a transfer ends well', { timeout: 5 * minutes }, async () => {
      await sign('first');
      await transfer();
    });

    test('its links are over TLS, and the key of their authority is in no service’s sight', {
      timeout: 5 * minutes,
    }, () => {
      expect(composed.logs('coordinator')).toContain('"url":"wss://');
      expect(composed.logs('node-1')).toContain('link up');
      for (const service of ['coordinator', 'gateway', 'worker', 'node-1']) {
        expect(() => composed.exec(service, 'cat', '/data/authority/ca.key'), service).toThrow();
        expect(composed.exec(service, 'cat', '/data/ca.crt'), service).toContain('BEGIN CERTIFICATE');
      }
      expect(() => composed.exec('node-1', 'cat', '/data/node-2/identity.key')).toThrow();
    });

    test('every health check passes', { timeout: 5 * minutes }, () => {
      for (const role of ['coordinator', 'node', 'gateway', 'worker']) {
        composed.exec(role === 'node' ? 'node-1' : role, 'node', 'dist/cli/main.js', 'health', role);
      }
      expect(composed.exec('redis', 'redis-cli', 'ping')).toContain('PONG');
    });

    test('signs without a container that was killed, and with it again', { timeout: 10 * minutes }, async () => {
      composed.kill('node-2');
      await until(async () => (await health()).nodes_ready === 4, 'the coordinator knows', 500);
      await sign('without-node-2');
      composed.start('node-2');
      await until(
        async () => (await health()).nodes_ready === 5,
        () => composed.logs('node-2'),
        500,
      );
      composed.kill('coordinator');
      composed.start('coordinator');
      await until(
        async () => (await health()).nodes_ready === 5,
        () => composed.logs('coordinator'),
        500,
      );
      await sign('with-all-again');
    });

    test('nothing but the gateway’s ports is published', async () => {
      const takes = (port: number) =>
        new Promise((resolve) => {
          const socket = connect(port, '127.0.0.1', () => resolve(true));
          socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
        });
      expect([await takes(8080), await takes(50051), await takes(7300)]).toEqual([true, true, false]);
    });

    // Podman finds nothing of the first build in its cache: on a busy machine this one takes as long.
    test('the image with everything in one signs and transfers with nothing beside it', {
      timeout: 30 * minutes,
    }, async () => {
      const at = 'http://127.0.0.1:18080';
      const container = composed.runStage('embedded', { http: 18_080, grpc: 18_051 });
      await until(
        async () => (await health(at)).status === 'ok',
        () => composed.logsOf(container),
        500,
      );
      composed.healthcheck(container);
      // The same seed has the same token.
      await sign('embedded', await makeKey(client(at), { sessionId: 'embedded', curve: 'ed25519' }), at);
      await transfer(at);
      composed.stop(container);
      expect(composed.logsOf(container)).toContain('It has stopped');
    });
  },
);
