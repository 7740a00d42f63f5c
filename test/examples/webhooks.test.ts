/** What docs/webhooks.md says to a receiver's author is right: the example receiver, the snippets, against real deliveries. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MachineMs } from '../../core/actors/contract.ts';
import { systemTimers } from '../../core/actors/live/ports.ts';
import { signDelivery } from '../../wallets/delivery/deliveries/webhook-signature.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';
import { freePort } from '../support/ports.ts';
import { type Made, RestClient } from '../support/rest.ts';
import { type SharedCluster, sharedCluster } from '../support/shared-cluster.ts';
import { until } from '../support/until.ts';

const source = fileURLToPath(new URL('../../examples/webhook-receiver.ts', import.meta.url));
const receiverPath = join(root, 'dist', relative(root, source)).replace(/\.ts$/, '.js');

/** The fenced block of a language in docs/webhooks.md. */
function snippet(language: string): string {
  const page = readFileSync(join(root, 'docs/webhooks.md'), 'utf8');
  const block = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(page)?.[1];
  if (block === undefined) throw new Error(`docs/webhooks.md has no block in ${language}`);
  return block;
}

describe('the example receiver', () => {
  let cluster: SharedCluster;
  let receiver: ChildProcess | undefined;
  let said = '';
  let port: number;
  let api: RestClient;
  let webhook: Made & { readonly secret: string };

  beforeAll(async () => {
    cluster = await sharedCluster();
    api = new RestClient(cluster.httpUrl, cluster.token);
    port = await freePort();
    webhook = await api.made('/v1/webhooks', { url: `http://127.0.0.1:${port}/hooks`, events: ['wallet.*'] });
    receiver = spawn(process.execPath, [receiverPath, '--secret', webhook.secret, '--port', String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    receiver.stdout!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await until(() => said.includes('listens on'), 'the receiver');
  });
  afterAll(async () => {
    receiver?.kill('SIGTERM');
    await cluster?.stop();
  });

  test('gets the wallets of a new connection, once each, and believes them', async () => {
    const { test_wallets: wallets } = await api.made<Made & { test_wallets: readonly Made[] }>(
      '/v1/providers/connect',
      {
        type: 'sandbox',
        name: 'for the receiver',
        credentials: {},
      },
    );
    expect(wallets.length).toBeGreaterThan(0);
    for (const { id } of wallets) await until(() => said.includes(`wallet.created ${id}`), `the event of ${id}`);
    for (const { id } of wallets) expect(said.split(`wallet.created ${id}`)).toHaveLength(2);
  });

  test('gets a ping that it did not subscribe to', async () => {
    expect((await api.post(`/v1/webhooks/${webhook.id}/ping`, {})).status).toBe(202);
    await until(() => /verified: \d+ webhook\.ping/.test(said), 'the ping');
  });

  test.each([
    ['no signature', {}],
    [
      'a signature of another body',
      signDelivery([`whsec_${randomBytes(32).toString('base64')}`], 'evt_1', systemTimers.epochMs(), Buffer.from('{}')),
    ],
  ])('refuses %s', async (_, headers) => {
    const response = await fetch(`http://127.0.0.1:${port}/hooks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{}',
    });
    expect(response.status).toBe(401);
  });

  test('refuses what was signed too long ago, although the signature is right', async () => {
    const body = Buffer.from('{"id":"evt_1"}');
    const headers = { ...signDelivery([webhook.secret], 'evt_1', (Date.now() - 3_600_000) as MachineMs, body) };
    const response = await fetch(`http://127.0.0.1:${port}/hooks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    expect(response.status).toBe(401);
  });

  test('says what is wrong with its call', () => {
    const { status, stderr } = spawnSync(process.execPath, [receiverPath, '--secret', 'x'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 2, stderr: '--secret must be the whsec_… of a webhook\n' });
  });
});

describe('the snippets check what is sent', () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const body = '{"id":"evt_1","text":"grüße"}';
  const right = signDelivery([secret], 'evt_1', systemTimers.epochMs(), Buffer.from(body))['x-svc-signature'];
  const wrong = right.replace(/^./, right.startsWith('0') ? '1' : '0');

  test('in JavaScript', async () => {
    const path = join(temporaryFolder(), 'snippet.mjs');
    writeFileSync(path, `${snippet('js')}\nexport { isSigned };\n`);
    const { isSigned } = (await import(pathToFileURL(path).href)) as {
      isSigned(body: string, secret: string, signature: string | undefined): boolean;
    };
    expect([right, wrong, '', undefined].map((each) => isSigned(body, secret, each) === true)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  test('in Python', (context) => {
    if (spawnSync('python3', ['--version']).status !== 0) return context.skip('there is no python3 here');
    const calls = [right, wrong, ''].map(
      (each) => `print(is_signed(${JSON.stringify(body)}.encode(), "${secret}", "${each}"))`,
    );
    const { stdout, stderr } = spawnSync('python3', ['-c', [snippet('python'), ...calls].join('\n')], {
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'True\nFalse\nFalse\n', stderr: '' });
  });
});
