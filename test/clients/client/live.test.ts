/**
 * `signmesh/client` against a process cluster and against an embedded service: wallets, transfers, events, keys and signatures,
 * webhooks, errors. test/clients/testing/wallet-api.test.ts has the simulated cluster of `signmesh/testing`.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as library from '../../../clients/client/index.ts';
import {
  type Client,
  createClient,
  type Event,
  InsufficientScopeError,
  IntentEndedError,
  InvalidRequestError,
  NotFoundError,
  SigningError,
  verifyWebhook,
} from '../../../clients/client/index.ts';
import { systemTimers } from '../../../core/actors/live/ports.ts';
import { signDelivery } from '../../../wallets/delivery/deliveries/webhook-signature.ts';
import { root } from '../../cli/support/up-process.ts';
import { startService } from '../../simulation/embedded/support/service.ts';
import { sharedCluster } from '../../support/shared-cluster.ts';
import { isThorough } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';

const destination = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

interface World {
  readonly httpUrl: string;
  stop(): Promise<void>;
}

const embedded = async (): Promise<World> => {
  const { service } = await startService();
  return { httpUrl: `http://${service.httpAddress}`, stop: () => service.stop() };
};
const worlds: readonly (readonly [name: string, start: () => Promise<World>])[] = [
  ['an embedded service', embedded],
  // Its doors are the same; test/examples/commands.test.ts runs the client's examples against it.
  ...(isThorough ? ([['a process cluster', sharedCluster]] as const) : []),
];

describe.each(worlds)('%s', (_name, start) => {
  /** A tenant of its own. */
  const token = `svc_sk_test_client${randomBytes(12).toString('hex')}`;
  let world: World;
  let client: Client;
  beforeAll(async () => {
    world = await start();
    client = createClient({ baseUrl: world.httpUrl, token });
  });
  afterAll(() => world?.stop());

  describe('wallets and transfers', () => {
    test('connects, makes a wallet, sends, and waits by polling and by events', async () => {
      const connection = await client.connections.connect({ type: 'sandbox', name: 'by client', credentials: {} });
      const wallet = await client.wallets.create({
        name: 'by client',
        provider_connection_id: connection.id,
        network: 'eip155:11155111',
      });
      const order = { asset: 'ETH', amount: '0.1', destination: { address: destination } };
      const polled = await client.waitFor(await client.intents.create(wallet.id, order));
      expect(polled).toMatchObject({ status: 'completed', amount: '0.1' });
      const followed = await client.waitFor(await client.intents.create(wallet.id, order), { by: 'events' });
      expect(followed.status).toBe('completed');
      expect(await client.waitFor(followed, { by: 'events' })).toMatchObject({ id: followed.id });
      expect((await client.intents.dryRun(wallet.id, order)).decision).toBe('allow');
    });

    test('one idempotency key is one transfer', async () => {
      const [wallet] = await client.wallets.list({ status: 'active' }).toArray(1);
      const order = { asset: 'ETH', amount: '0.01', destination: { address: destination } };
      const idempotencyKey = randomBytes(8).toString('hex');
      const [one, other] = await Promise.all([
        client.intents.create(wallet!.id, order, { idempotencyKey }),
        client.intents.create(wallet!.id, order, { idempotencyKey }),
      ]);
      expect(other.id).toBe(one.id);
    });

    test('a transfer that is denied ends the wait with the intent', async () => {
      const [wallet] = await client.wallets.list({ status: 'active' }).toArray(1);
      await client.policies.put({ name: 'never', rules: [{ id: 'never', effect: 'deny', when: 'true' }] });
      const order = { asset: 'ETH', amount: '0.01', destination: { address: destination }, policy: 'never' };
      const intent = await client.intents.create(wallet!.id, order);
      const ended = await client.waitFor(intent).catch((error: unknown) => error);
      expect(ended).toBeInstanceOf(IntentEndedError);
      expect(ended).toMatchObject({ code: 'intent_ended', intent: { id: intent.id, status: 'denied' } });
      expect(await client.waitFor(intent, { until: ['denied', 'failed'] })).toMatchObject({ status: 'denied' });
    });
  });

  describe('events', () => {
    test('the log by pages and the stream from the same place are the same, each event once', async () => {
      const listed = await client.events.list({ limit: 7 }).toArray();
      expect(listed.length).toBeGreaterThan(7);
      const streamed: Event[] = [];
      for await (const event of client.events.follow({ afterSequence: 0 })) {
        streamed.push(event);
        if (streamed.length === listed.length) break;
      }
      expect(streamed).toEqual(listed);
      expect(listed.map(({ sequence }) => sequence)).toEqual(listed.map((_, index) => index + 1));
    });
  });

  describe('keys and signatures', () => {
    test('a key of each curve signs what a library verifies', async () => {
      const message = randomBytes(32);
      const ecdsa = await client.keys.create({ threshold: 2, totalNodes: 3 });
      const { signature, recoveryId } = await client.keys.sign({ keyId: ecdsa.keyId, message });
      const publicKey = Buffer.from(ecdsa.publicKey, 'hex');
      expect(secp256k1.verify(signature, message, publicKey, { prehash: false })).toBe(true);
      expect(recoveryId).toBeLessThan(4);
      const frost = await client.keys.create({ threshold: 2, totalNodes: 3, curve: 'ed25519' });
      const signed = await client.keys.sign({ keyId: frost.keyId, message });
      expect(ed25519.verify(signed.signature, message, Buffer.from(frost.publicKey, 'hex'))).toBe(true);
    });

    test('an intent that is signed already is refused with its reason, unless its signature is accepted', async () => {
      const { keyId } = await client.keys.create({ threshold: 2, totalNodes: 3 });
      const intentId = 'invoice-1';
      const message = randomBytes(32);
      const first = await client.keys.sign({ keyId, message, intentId });
      const refused = await client.keys.sign({ keyId, message: randomBytes(32), intentId }).catch((error) => error);
      expect(refused).toBeInstanceOf(SigningError);
      expect(refused).toMatchObject({ reasonCode: 'DUPLICATE_INTENT', sessionId: first.sessionId });
      const again = await client.keys.sign({ keyId, message, intentId, acceptExisting: true });
      expect(again.signature).toEqual(first.signature);
      await expect(client.keys.create({ keyId })).rejects.toMatchObject({ reasonCode: 'DUPLICATE_SESSION' });
    });

    test('a signature that a human must approve says so, and its token is in no log of the error', async () => {
      const { keyId } = await client.keys.create({ threshold: 2, totalNodes: 3 });
      const request = { keyId, message: randomBytes(32), approvalMode: 'HUMAN_REQUIRED' as const };
      const refused: SigningError = await client.keys.sign(request).catch((error) => error);
      expect(refused.reasonCode).toBe('HUMAN_APPROVAL_REQUIRED');
      const resumeToken = refused.checkpoint!.resume_token;
      expect(resumeToken).not.toBe('');
      expect(inspect(refused, { depth: 9 })).not.toContain(resumeToken);
      expect(JSON.stringify(refused)).not.toContain(resumeToken);
      const session_id = refused.sessionId;
      await client.signing.resumeSession({ session_id, resume_token: resumeToken, human_approval_witness: 'YWxpY2U=' });
      const signed = await client.signing.submitSignatureShare({ signing_session_id: session_id });
      expect(signed.is_complete).toBe(true);
    });
  });

  describe('webhooks', () => {
    let receiver: Server;
    const events: Event[] = [];
    const failures: unknown[] = [];
    let secret = '';
    beforeAll(async () => {
      receiver = createServer(async (request, response) => {
        const pieces: Buffer[] = [];
        for await (const piece of request) pieces.push(piece as Buffer);
        try {
          events.push(await verifyWebhook(Buffer.concat(pieces), request.headers, secret));
        } catch (error) {
          failures.push(error);
        }
        response.writeHead(204).end();
      });
      await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    });
    afterAll(() => receiver.close());

    test('a delivery verifies under the secret, and after a rotation still under the old one', async () => {
      const { port } = receiver.address() as AddressInfo;
      const webhook = await client.webhooks.create({ url: `http://127.0.0.1:${port}/`, events: ['wallet.*'] });
      secret = webhook.secret;
      await client.webhooks.ping(webhook.id);
      await until(() => events.length + failures.length === 1, 'the ping');
      await client.webhooks.rotateSecret(webhook.id);
      await client.webhooks.ping(webhook.id);
      await until(() => events.length + failures.length === 2, 'the second ping');
      expect(failures).toEqual([]);
      expect(events.map(({ type }) => type)).toEqual(['webhook.ping', 'webhook.ping']);
      await client.webhooks.delete(webhook.id);
    });
  });

  describe('errors', () => {
    test('name operation, field and remedy', async () => {
      const refused = await client.wallets.create({ name: '' } as never).catch((error) => error);
      expect(refused).toBeInstanceOf(InvalidRequestError);
      expect(refused).toMatchObject({
        code: 'invalid_request',
        status: 400,
        operation: 'createWallet',
        effect: 'none',
      });
      expect(refused.has('missing_required', 'network')).toBe(true);
      expect(refused.message).toMatch(/^createWallet: 400 invalid_request: .*network: missing_required/);
      expect(refused.message.match(/network: missing_required/g)).toHaveLength(1);
      expect(refused.requestId).toMatch(/^req_/);
      await expect(client.wallets.get('wal_none')).rejects.toBeInstanceOf(NotFoundError);
      await expect(client.sandbox.nodes().first()).rejects.toBeInstanceOf(InsufficientScopeError);
    });

    test('no secret is in an error or in what inspect shows of a client', async () => {
      const shown: unknown[] = [client, inspect(client, { depth: 9, showHidden: true })];
      const wrong = [
        () => client.wallets.get('..wal'),
        () => client.sandbox.reset(),
        () => client.wallets.create({} as never),
      ];
      for (const call of wrong) shown.push(await call().catch((error: unknown) => error));
      for (const one of shown) expect(inspect(one, { depth: 9 }) + JSON.stringify(one)).not.toContain(token);
    });
  });

  describe('docs/client.md', () => {
    test('its blocks run one after the other, as one program', async () => {
      const page = readFileSync(join(root, 'docs/client.md'), 'utf8');
      const blocks = [...page.matchAll(/^```js\n(.*?)^```/gms)].map(([, block]) => block);
      const program = blocks
        .join('\n')
        .replace(/^import (\{.*\}) from 'signmesh\/client';$/gm, 'const $1 = library;')
        .replace(/^export /gm, '');
      const said: unknown[][] = [];
      const console = { log: (...values: unknown[]) => said.push(values) };
      const process = { env: { BASE_URL: world.httpUrl, TOKEN: `${token}Page` } };
      const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
      const run = new AsyncFunction('library', 'console', 'process', `${program}\nreturn receive;`);
      const receive = await run(library, console, process);
      expect(said[0]).toEqual(['completed', expect.stringMatching(/^0x/)]);
      expect(said[1]).toEqual([true]);
      expect(said).toContainEqual([expect.any(Number), 'transaction_intent.completed']);
      expect(said.at(-2)).toEqual([expect.stringMatching(/^0[23][0-9a-f]{64}$/), 64, expect.any(Number)]);
      expect(said.at(-1)).toEqual([expect.any(String), expect.any(Array), expect.stringMatching(/^req_/)]);
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      const body = Buffer.from('{"type":"webhook.ping"}');
      const headers = signDelivery([secret], 'evt_1', systemTimers.epochMs(), body);
      const request = new Request('http://receiver.test', { method: 'POST', headers: { ...headers }, body });
      expect(await receive(request, secret)).toBe('webhook.ping');
    });
  });
});
