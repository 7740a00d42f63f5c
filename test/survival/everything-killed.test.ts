/** kill -9 of every process at once (`up`, its children, Redis), and a start on the same data directory. At last `up` alone is killed. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { allGone } from '../support/alive.ts';
import { startCluster, type TestCluster } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { askAgain, finishSigning, type Key, makeKey, openSigning, readKey } from './support/ceremonies.ts';
import { Ledger } from './support/ledger.ts';

const digest = new Uint8Array(32).fill(0x78);
const ledger = new Ledger();
let cluster: TestCluster;
let key: Key;

const client = () => ({ api: cluster.http(), ledger });

beforeAll(async () => {
  cluster = await startCluster();
  key = await makeKey(client(), { sessionId: 'secp', curve: 'secp256k1' });
});
afterAll(() => cluster?.stop());
afterEach(() => expect(ledger.violations).toEqual([]));

test('kill -9 of everything at once, in the middle of key generations: on the next start all is there, and keys sign', async () => {
  const completed = await openSigning(client(), { key, scheme: 'bip340', intentId: 'before', message: digest });
  const signature = await finishSigning(client(), completed);
  const open = await openSigning(client(), { key, scheme: 'bip340', intentId: 'open', message: digest });
  const publicKeys = cluster.ready.keys;
  const keyBefore = ledger.resultOf(key.sessionId);
  const began = [1, 2, 3].map((count) => makeKey(client(), { sessionId: `cut-${count}`, curve: 'ed25519' }));
  await until(() => ledger.sessionsOf('dkg').includes('cut-1'), 'a DKG under way');

  await cluster.killEverything();
  await cluster.start();

  expect(cluster.ready.keys).toEqual(publicKeys);
  const cut = await Promise.all(began);
  await cluster.untilHealth('ok');
  expect(await finishSigning(client(), completed)).toBe(signature);
  await finishSigning(client(), open);
  expect(ledger.stateOf(open)).toBe(ReceiptState.BACKEND_COMPLETED);
  const after = await openSigning(client(), { key, scheme: 'bip340', intentId: 'after', message: digest });
  await finishSigning(client(), after);
  await ledger.ask(key.sessionId, () => client().api.exchangeDkgShares({ sessionId: key.sessionId }));
  expect(await readKey(client(), key.sessionId)).toBe(keyBefore);
  for (const made of cut) {
    const wish = { key: made, scheme: 'ed25519', intentId: made.sessionId, message: digest } as const;
    await finishSigning(client(), await openSigning(client(), wish));
  }
  await askAgain(client());
});

test('leaves no process behind when up dies suddenly', async () => {
  const { up } = cluster.ready.pids;
  const pids = cluster.roles.map((role) => [role, cluster.pid(role)!] as const);
  process.kill(up!, 'SIGKILL');
  await allGone(Object.fromEntries(pids));
});
