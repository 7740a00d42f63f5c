/** Changes of wallets whose events arrive by webhook: from the change until this process has received the event. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '../../client/index.ts';
import { answered, type HttpClient } from '../calls/http.ts';
import { WebhookChecks } from '../verdict/webhook-record.ts';
import { pause } from './at-once.ts';
import { type Observe, type Operation, Unexpected } from './operation.ts';
import { makeWallets } from './wallets.ts';

const wallets = 16;
const receiveWithinMs = 60_000;
const settleEveryMs = 100;

interface ChangedWallet {
  readonly id: string;
  version: number;
  /** Changes of one wallet run one after the other: a change that lost a race would measure something else. */
  last: Promise<unknown>;
}

export interface WebhookOperation extends Operation {
  /** Events that are due and have not been received. */
  readonly open: number;
}

export async function webhookOperation(http: HttpClient, client: Client): Promise<WebhookOperation> {
  const record = new WebhookChecks();
  let secret = '';
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isValid = record.received(Buffer.concat(chunks), request.headers, secret, keyOf);
      response.writeHead(isValid ? 204 : 401).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const webhook = await client.webhooks.create({ url, events: ['wallet.updated'] });
  secret = webhook.secret;
  const made = (await makeWallets(client, 'sandbox', wallets)).map(
    ({ id, version }): ChangedWallet => ({ id, version, last: Promise.resolve() }),
  );
  let turn = 0;

  async function change(wallet: ChangedWallet, observe: Observe): Promise<{ received: Promise<void> }> {
    const version = wallet.version + 1;
    const key = `${wallet.id} ${version}`;
    let timer: NodeJS.Timeout | undefined;
    const received = new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(new Unexpected('no webhook')), receiveWithinMs);
      record.expect(key, resolve);
    }).finally(() => clearTimeout(timer));
    received.catch(() => undefined);
    try {
      await observe('PATCH /v1/wallets/:id', async () => {
        const body = JSON.stringify({ metadata: { mark: key } });
        const view = answered<{ version: number }>(await http.send('PATCH', `/v1/wallets/${wallet.id}`, body), 200);
        wallet.version = view.version;
      });
    } catch (error) {
      record.notDue(key);
      clearTimeout(timer);
      // Its effect is unknown: the wallet's version tells.
      await refresh(wallet).catch(() => undefined);
      throw error;
    }
    record.due(key);
    // In an object, since a promise that resolves with a promise would wait for it.
    return { received };
  }

  async function refresh(wallet: ChangedWallet): Promise<void> {
    wallet.version = (await client.wallets.get(wallet.id)).version;
  }

  return {
    get open() {
      return record.open;
    },
    async run(observe) {
      turn += 1;
      const wallet = made[turn % made.length]!;
      const changing = wallet.last.then(() => change(wallet, observe));
      wallet.last = changing.catch(() => undefined);
      const { received } = await changing;
      await observe('until the webhook came', () => received);
    },
    async settle(untilMs) {
      while (record.open > 0 && performance.now() < untilMs) await pause(settleEveryMs);
    },
    checks: async () => [record.check()],
    async close() {
      await client.webhooks.delete(webhook.id).catch(() => undefined);
      await stop(server);
    },
  };
}

function keyOf(event: unknown): string {
  const { resource } = event as { readonly resource: { readonly id: string; readonly version: number } };
  return `${resource.id} ${resource.version}`;
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
