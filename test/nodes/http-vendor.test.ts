/** The live way to a vendor and back: HTTP between a node's port and the simulated vendor's own server, as an attacker sees it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog, systemPorts } from '../../core/actors/live/ports.ts';
import { vendorMac } from '../../core/crypto/vendor-mac.ts';
import type { HsmOutcome } from '../../nodes/records/hsm-port.ts';
import type { VendorOutcome } from '../../nodes/records/vendor-port.ts';
import { HttpVendor } from '../../nodes/vendor/http-vendor.ts';
import { VendorServer } from '../../wallets/providers/vendor/server.ts';
import { until } from '../support/until.ts';

const secret = new Uint8Array(32).fill(7);
const message = new Uint8Array(32).fill(9);
const challenge = new Uint8Array(32).fill(3);

interface Wish {
  readonly directory?: string;
  readonly decideMs?: number;
  /** What stands between the two. */
  readonly through?: (url: string) => Promise<string>;
  readonly secret?: Uint8Array;
}

async function server({ directory, decideMs = 1 }: Wish = {}): Promise<VendorServer> {
  const own = directory ?? mkdtempSync(join(tmpdir(), 'signmesh-vendor-'));
  if (directory === undefined) onTestFinished(() => rmSync(own, { recursive: true }));
  const vendor = await VendorServer.start({
    directory: own,
    port: 0,
    secret,
    decideMs,
    lifetimeMs: 60_000,
    ports: systemPorts,
  });
  onTestFinished(() => vendor.stop());
  return vendor;
}

async function port(vendor: VendorServer, wish: Wish = {}) {
  const news: string[] = [];
  const url = wish.through ? await wish.through(vendor.url) : vendor.url;
  const config = { url, secret: wish.secret ?? secret, timeoutMs: 60_000, callbackHost: '127.0.0.1', callbackPort: 0 };
  const looked = (tenant: string, reference: string) => news.push(`${tenant} ${reference}`) > 0;
  const node = await HttpVendor.start({ ...config, callbackUrl: undefined }, 'cl_1', looked, silentLog);
  onTestFinished(() => node.stop());
  return {
    news,
    stop: () => node.stop(),
    make: () =>
      new Promise<HsmOutcome>((resolve) =>
        node.ask({ kind: 'make', label: 'k', curve: 'secp256k1', challenge }, resolve),
      ),
    place: (externalId = 'o1', signed = message) =>
      new Promise<VendorOutcome>((resolve) => {
        const order = { externalId, label: 'k', curve: 'secp256k1', message: signed, tenant: 'tn', reference: 'ab' };
        node.order({ kind: 'place', ...order, curve: 'secp256k1' }, resolve);
      }),
    cancel: (externalId: string) =>
      new Promise<VendorOutcome>((resolve) => node.order({ kind: 'cancel', externalId }, resolve)),
  };
}

function publicKeyOf(made: HsmOutcome): Uint8Array {
  if (made.kind !== 'made') throw new Error(`no key: ${JSON.stringify(made)}`);
  return made.publicKey;
}

test.each([
  ['a request that is cut short', 'content-length: 9\r\n\r\n{'],
  ['a MAC of as many characters and more bytes', `content-length: 2\r\nx-vendor-mac: ${'\u00e9'.repeat(64)}\r\n\r\n{}`],
])('%s ends that request, and not the vendor’s process', async (_, rest) => {
  const ended: unknown[] = [];
  const unhandled = (reason: unknown) => ended.push(reason);
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const vendor = await server();
  const socket = connect(Number(new URL(vendor.url).port), '127.0.0.1', () => {
    socket.write(`POST /v1/orders HTTP/1.1\r\nhost: v\r\n${rest}`, 'latin1', () => socket.end());
  });
  socket.on('error', () => {}).resume();
  await new Promise((resolve) => socket.once('close', resolve));
  const node = await port(vendor);
  publicKeyOf(await node.make());
  expect(ended).toEqual([]);
});

test('an order is placed, decided later, called back, and given with a signature of the vendor’s key', async () => {
  const vendor = await server({ decideMs: 50 });
  const node = await port(vendor);
  const publicKey = publicKeyOf(await node.make());
  expect(await node.place()).toMatchObject({ kind: 'order', state: 'open', detail: 'SUBMITTED' });
  await until(() => node.news.length > 0, 'the callback');
  expect(node.news).toEqual(['tn ab']);
  const signed = await node.place();
  if (signed.kind !== 'order') throw new Error('no order');
  expect(signed.state).toBe('signed');
  expect(secp256k1.verify(signed.signature, message, publicKey, { prehash: false })).toBe(true);
  expect(await node.cancel('o1')).toMatchObject({ state: 'signed' });
});

test('an external id has one order, and no other message', async () => {
  const vendor = await server({ decideMs: 60_000 });
  const node = await port(vendor);
  await node.make();
  await Promise.all([node.place(), node.place(), node.place()]);
  expect(vendor.orders).toHaveLength(1);
  expect(await node.place('o1', challenge)).toMatchObject({ kind: 'failed', fault: 'VENDOR_UNAVAILABLE' });
  expect(await node.cancel('o1')).toMatchObject({ state: 'cancelled' });
});

test('keys and orders outlive the vendor’s process', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'signmesh-vendor-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const first = await server({ directory, decideMs: 60_000 });
  const node = await port(first);
  const key = publicKeyOf(await node.make());
  await node.place();
  await first.stop();
  const second = await server({ directory, decideMs: 1 });
  const again = await port(second);
  expect(publicKeyOf(await again.make())).toEqual(key);
  expect(second.orders.map(({ externalId, status }) => [externalId, status])).toEqual([['o1', 'SUBMITTED']]);
  expect(await again.place()).toMatchObject({ state: 'open' });
});

test('who does not know the secret is not served, and its vendor is not believed', async () => {
  const vendor = await server();
  const stranger = await port(vendor, { secret: new Uint8Array(32).fill(8) });
  expect(await stranger.make()).toMatchObject({ kind: 'failed', fault: 'VENDOR_UNAVAILABLE' });
  expect(vendor.keys).toEqual([]);
});

test('an answer that is changed on its way is not taken: no other key in place of the vendor’s', async () => {
  const vendor = await server();
  const through = async (url: string) => {
    const proxy = createServer((incoming, outgoing) => {
      const { method, headers } = incoming;
      const onward = httpRequest(new URL(incoming.url!, url), { method, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          // The last digit of the public key.
          const text = Buffer.concat(chunks).toString();
          const other = text.replace(/"publicKey":"(\w+)(\w)"/, (_, most: string, last: string) => {
            return `"publicKey":"${most}${last === '0' ? '1' : '0'}"`;
          });
          outgoing.writeHead(answer.statusCode!, answer.headers).end(other);
        });
      });
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void proxy.close());
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  };
  const made = await (await port(vendor, { through })).make();
  expect(made).toMatchObject({ kind: 'failed', fault: 'VENDOR_UNAVAILABLE' });
  expect(vendor.keys).toHaveLength(1);
});

test('a callback that is not the vendor’s is refused, and wakes nothing', async () => {
  const vendor = await server({ decideMs: 60_000 });
  const node = await port(vendor);
  await node.make();
  await node.place();
  const { callback } = vendor.orders[0]!;
  const forged = (headers: Record<string, string>) => fetch(callback, { method: 'POST', body: '{}', headers });
  expect((await forged({})).status).toBe(401);
  const headers = { 'x-vendor-time': String(Date.now()), 'x-vendor-mac': 'ab'.repeat(32) };
  expect((await forged(headers)).status).toBe(401);
  expect((await fetch(new URL('/', callback))).status).toBe(404);
  expect(node.news).toEqual([]);
});

test('a callback is the vendor’s for five minutes around its time, and not under another address', async () => {
  const vendor = await server({ decideMs: 60_000 });
  const node = await port(vendor);
  await node.make();
  await node.place();
  const { pathname, href } = new URL(vendor.orders[0]!.callback);
  const called = async (offMs: number, path = pathname): Promise<number> => {
    const time = String(Date.now() + offMs);
    const mac = vendorMac(secret, 'callback', time, path, '{}');
    const headers = { 'x-vendor-time': time, 'x-vendor-mac': mac };
    return (await fetch(href, { method: 'POST', body: '{}', headers })).status;
  };
  const [nearMs, farMs] = [4 * 60_000, 6 * 60_000];
  expect([await called(-farMs), await called(farMs), await called(0, `${pathname}f`)]).toEqual([401, 401, 401]);
  expect(node.news).toEqual([]);
  expect([await called(-nearMs), await called(nearMs), node.news]).toEqual([204, 204, ['tn ab', 'tn ab']]);
});

test('an answer of more than 64 KiB is not read to its end, whatever MAC it has', async () => {
  const answerOf = async (extra: number) => {
    const through = async () => {
      const long = createServer((incoming, outgoing) => {
        const text = JSON.stringify({ publicKey: 'ab', signature: 'cd', more: 'x'.repeat(64 * 1024 - 45 + extra) });
        const mac = vendorMac(secret, 'answer', String(incoming.headers['x-vendor-mac']), '200', text);
        outgoing.writeHead(200, { 'x-vendor-mac': mac }).end(text);
      });
      await new Promise<void>((resolve) => long.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void long.close());
      return `http://127.0.0.1:${(long.address() as AddressInfo).port}`;
    };
    return (await port(await server(), { through })).make();
  };
  expect(await answerOf(0)).toMatchObject({ kind: 'made' });
  expect(await answerOf(1)).toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('the answer is too long'),
  });
});

test('a callback of more than 4 KiB is cut off before anything in it is checked', async () => {
  const vendor = await server({ decideMs: 60_000 });
  const node = await port(vendor);
  await node.make();
  await node.place();
  const { callback } = vendor.orders[0]!;
  const statusOf = async (bytes: number) => (await fetch(callback, { method: 'POST', body: 'x'.repeat(bytes) })).status;
  expect([await statusOf(4 * 1024), await statusOf(4 * 1024 + 1)]).toEqual([401, 400]);
});

test('a vendor that is down or unavailable is VENDOR_UNAVAILABLE', async () => {
  const vendor = await server();
  const node = await port(vendor);
  await node.make();
  vendor.behave({ by: 'unavailable' });
  expect(await node.place()).toMatchObject({ kind: 'failed', fault: 'VENDOR_UNAVAILABLE' });
  await vendor.stop();
  expect(await node.place()).toMatchObject({ kind: 'failed', fault: 'VENDOR_UNAVAILABLE' });
});

test('a node’s port and a vendor stop beside connections whose requests do not end', async () => {
  const vendor = await server({ decideMs: 60_000 });
  const node = await port(vendor);
  await node.make();
  await node.place();
  const held = [`${vendor.url}/v1/orders`, vendor.orders[0]!.callback].map(
    (url) =>
      new Promise<void>((resolve, reject) => {
        const { pathname, port } = new URL(url);
        const socket = connect(Number(port), '127.0.0.1', () => {
          socket.write(`POST ${pathname} HTTP/1.1\r\nhost: v\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n`);
        });
        // Before the stops of the two, which would wait for it without end.
        onTestFinished(() => void socket.destroy());
        socket.once('data', () => socket.write('{', () => resolve()));
        socket.once('error', reject);
      }),
  );
  await Promise.all(held);
  let stopped = 0;
  for (const each of [node, vendor]) each.stop().then(() => (stopped += 1));
  await until(() => stopped === 2, 'the end of both');
});
