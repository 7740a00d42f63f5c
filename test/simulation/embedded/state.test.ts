/** The state of an embedded service as a file: what a later run finds, and what is refused. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { takeLock } from '../../../cli/common/lock.ts';
import { upEmbedded } from '../../../cli/embedded/embedded.ts';
import { sizeOf } from '../../../cli/embedded/requested.ts';
import { loadSettings } from '../../../cli/settings/config.ts';
import { loadState, StateFileError, saveState } from '../../../simulation/embedded/state-file.ts';
import { until } from '../../support/until.ts';
import { signature, startService } from './support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'signmesh-state-'));
const path = join(folder, 'my.state');
const format = 6;
const isReadable = (found: number) => found === format;
const digest = createHash('sha256').update('state').digest();

/** "open", or the code of the refusal. */
function connecting(address: string): Promise<string> {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect(Number(port), host);
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? ''));
    socket.once('connect', () => {
      socket.destroy();
      resolve('open');
    });
  });
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('is there again in a later run: keys that sign, wallets, what was signed', async () => {
  expect(loadState(path, isReadable)).toBeUndefined();
  const first = await startService();
  const connection = { provider: 'self_hosted', name: 'cluster', credentials: {} };
  const { id } = await first.must(201, 'POST', '/v1/provider-connections', connection);
  const asked = { name: 'one', provider_connection_id: id, network: 'eip155:11155111' };
  const wallet = await first.must(201, 'POST', '/v1/wallets', asked);
  await first.must(201, 'POST', '/v1/sandbox/faults', { fault: 'clock_jump', target: 'worker', by_ms: 5_000 });
  await first.must(200, 'POST', '/v1/sandbox/clock', { advance_s: 90_000 });
  const signed = await signature(first, 'sandbox-secp256k1', digest, 'once');
  await first.service.stop();
  for (const address of [first.service.httpAddress, first.service.grpcAddress]) {
    expect(await connecting(address)).toBe('ECONNREFUSED');
  }
  saveState(path, format, first.service.state());
  expect(statSync(path).mode & 0o777).toBe(0o600);

  const stored = loadState(path, isReadable)!;
  // A version without several clusters named no number.
  const { clusters: _, ...older } = stored;
  const size = { settings: loadSettings({}).settings, nodes: undefined };
  expect([stored, older].map((one) => sizeOf(size, one, path).clusters)).toEqual([1, 1]);
  const second = await startService({ stored: older });
  expect(second.keys).toEqual(first.keys);
  const clocks = async () => {
    const { nodes } = await second.must(200, 'GET', '/v1/sandbox/nodes');
    const worker = (nodes as { process: string; clock_offset_ms: number }[]).find(
      ({ process }) => process === 'worker',
    );
    return [(await second.must(200, 'GET', '/v1/sandbox/clock')).offset_ms, worker?.clock_offset_ms];
  };
  expect(await clocks()).toEqual([90_000_000, 90_005_000]);
  expect((await second.must(200, 'GET', `/v1/wallets/${wallet.id}`)).addresses).toEqual(wallet.addresses);
  const repeated = await second.must(200, 'POST', '/v1/signing/initiate', {
    transaction_intent_id: 'once',
    wallet_id: 'sandbox-secp256k1',
    message_hash: digest.toString('base64'),
  });
  expect(repeated.receipt.reason_code).toBe('DUPLICATE_INTENT');
  const next = await signature(second, 'sandbox-secp256k1', digest, 'twice');
  expect(next.is_complete).toBe(true);
  expect(next.full_signature).not.toBe(signed.full_signature);
  // A reset goes back to the beginning of the first run.
  await second.must(200, 'POST', '/v1/sandbox/reset');
  expect((await second.call('GET', `/v1/wallets/${wallet.id}`)).status).toBe(404);
  expect(await clocks()).toEqual([0, 0]);
  await second.service.stop();
});

it('of the version without MACs is read: its tokens count, what it signed stands, and its open transfers fail by name', async () => {
  const file = join(folder, 'six.state');
  const packed = new URL('../../cli/fixtures/data-format-6.state.gz', import.meta.url);
  writeFileSync(file, gunzipSync(readFileSync(fileURLToPath(packed))));
  const stored = loadState(file, (found) => found === 6)!;
  // Soon after it was saved: later its transfers would be over.
  const { timeOrigin } = performance;
  const savedMs = new Date('2026-11-28T09:13:40Z').getTime();
  Object.defineProperty(performance, 'timeOrigin', { configurable: true, value: savedMs - performance.now() });
  onTestFinished(() => {
    Object.defineProperty(performance, 'timeOrigin', { configurable: true, value: timeOrigin });
  });
  const first = await startService({ stored, nodes: 2, sealsStored: true });
  const { wallets } = await first.must(200, 'GET', '/v1/wallets');
  const other = (wallets as { id: string; name: string; addresses: { address: string }[] }[]).find(
    ({ name }) => name === 'other',
  )!;
  const path = `/v1/wallets/${other.id}/transaction-intents`;
  type Shown = { id: string; amount: string; status: string; sub_status: string; provider_tx_id: string | null };
  const shown = async (of = first) => {
    const { transaction_intents: all } = await of.must(200, 'GET', path);
    const lines = (all as Shown[]).map((one) => [one.amount, one.status, one.sub_status, one.provider_tx_id !== null]);
    return lines.sort((one, next) => String(one[0]).localeCompare(String(next[0])));
  };
  const tampered = ['failed', 'RECORD_TAMPERED', false];
  await until(
    async () => (await shown()).every(([, status]) => status !== 'pending_approval' && status !== 'signing'),
    'the end of both',
  );
  const ended = [
    ['0.1', 'completed', null, true],
    ['0.2', ...tampered],
    ['0.3', ...tampered],
  ];
  expect(await shown()).toEqual(ended);
  // Their number and their money are free.
  const { id } = await first.must(201, 'POST', path, {
    asset: 'ETH',
    amount: '9.5',
    destination: { address: other.addresses[0]!.address },
  });
  await until(async () => (await first.must(200, 'GET', `${path}/${id}`)).status === 'completed', 'a new transfer');
  await first.service.stop();
  // From then on nothing without a MAC is taken.
  const second = await startService({ stored: first.service.state(), nodes: 2 });
  expect(await shown(second)).toEqual([...ended, ['9.5', 'completed', null, true]]);
  await second.service.stop();
  const unsealed = await startService({ stored, nodes: 2 });
  const refused = await unsealed.must(409, 'GET', '/v1/wallets');
  expect(refused.error.details).toMatchObject([{ issue: 'store_tampered' }]);
  await unsealed.service.stop();
});

it('refuses what is no state, another format, and a damaged file', () => {
  const bytes = readFileSync(path);
  const written = (name: string, content: Uint8Array) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const damaged = Buffer.from(bytes);
  damaged[damaged.length - 9]! ^= 1;
  expect(() => loadState(written('text', Buffer.from('hello')), isReadable)).toThrow(StateFileError);
  expect(() => loadState(written('damaged', damaged), isReadable)).toThrow(/damaged/);
  expect(() => loadState(path, (found) => found === format + 1)).toThrow(/data format 6/);
});

it('refuses before it starts what it could not save at the end', async () => {
  const options = { seed: undefined, nodes: undefined, json: true, verbose: false, detached: false };
  const start = (files: { state?: string; record?: string }) =>
    upEmbedded({ settings: loadSettings({}).settings, ...options, state: files.state, record: files.record });
  const nowhere = join(folder, 'nowhere');
  await expect(start({ state: join(nowhere, 'my.state') })).rejects.toThrow(
    /my[.]state cannot be written: .*ENOENT.*my[.]state'[.]$/,
  );
  await expect(start({ record: join(nowhere, 'my.yaml') })).rejects.toThrow(
    /my[.]yaml cannot be written: .*ENOENT.*my[.]yaml'[.]$/,
  );
  await expect(start({ record: join(folder, 'My.yaml') })).rejects.toThrow(/lower case, digits and dashes/);
  for (const state of [folder, '/dev/null']) await expect(start({ state })).rejects.toThrow(/cannot be read: it is no/);
});

it('uses the file that a link names: it has one lock under both names', async () => {
  const file = join(folder, 'linked.state');
  const link = join(folder, 'link.state');
  writeFileSync(file, readFileSync(path));
  symlinkSync(file, link);
  const settings = loadSettings({ SIGNMESH_HTTP_PORT: '0', SIGNMESH_GRPC_PORT: '0' }).settings;
  const options = { settings, seed: undefined, nodes: undefined, json: true, verbose: false, detached: false };
  const lock = takeLock(`${file}.lock`, file);
  await expect(upEmbedded({ ...options, state: link, record: undefined })).rejects.toThrow(/in use by another/);
  lock.release();
});
