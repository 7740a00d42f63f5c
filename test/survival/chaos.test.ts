/**
 * Everything dies at random, repeatedly, while clients make keys and signatures: nodes, coordinator, gateway, Redis.
 * Afterwards everything that any client was ever told must still be true. The seed of the choices is printed.
 * In a thorough run alone: the simulated search kills as many, and the other files of this folder kill each process.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { RoleName } from '../support/cluster.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough } from '../support/thorough.ts';
import { askAgain, curveOf, type Key, makeKey, type Scheme, sign } from './support/ceremonies.ts';
import { Ledger } from './support/ledger.ts';
import { nonceUse } from './support/nonces.ts';
import { announcedSeed, Seeded } from './support/seeded.ts';

const clients = 4;
const kills = 14;
/** Of every client, at least: they go on until the killing is over. */
const roundsMin = 2;
const signaturesInRound = 4;
const schemes: readonly Scheme[] = ['mockEcdsa', 'bip340', 'ed25519'];

const ledger = new Ledger();
let cluster: BorrowedCluster;

beforeAll(async () => {
  cluster = await borrowCluster();
}, borrowWithinMs);
afterAll(() => cluster?.stop());

test.runIf(isThorough)('nothing that a client was told is lost or contradicted', async () => {
  const seed = announcedSeed('chaos');
  let isOver = false;
  let rounds = 0;

  /** One client: makes keys, and signs with its own and the others' keys. */
  const keys: { readonly key: Key; readonly scheme: Scheme }[] = [];
  const work = async (name: string): Promise<void> => {
    const chance = new Seeded(`${seed}/${name}`);
    const client = { api: cluster.http(), ledger };
    for (let round = 1; round <= roundsMin || !isOver; round += 1) {
      const curve = chance.pick(['secp256k1', 'ed25519'] as const);
      const totalNodes = chance.integer(2, 5);
      const threshold = chance.integer(2, totalNodes);
      // A key has one scheme.
      const scheme = chance.pick(schemes.filter((one) => curveOf[one] === curve));
      const made = await makeKey(client, { sessionId: `${name}-${round}`, curve, threshold, totalNodes });
      keys.push({ key: made, scheme });
      for (let count = 1; count <= signaturesInRound; count += 1) {
        await sign(client, { ...chance.pick(keys), intentId: `${name}-${round}-${count}`, message: chance.bytes(32) });
      }
      rounds += 1;
    }
  };

  const killed: RoleName[] = [];
  const killAtRandom = async (): Promise<void> => {
    const chance = new Seeded(`${seed}/killer`);
    const targets: readonly RoleName[] = [...cluster.roles, 'coordinator', 'redis'];
    while (killed.length < kills) {
      // A moment of the fault, not a wait for anything.
      await new Promise((resolve) => setTimeout(resolve, chance.integer(50, 900)));
      const role = chance.pick(targets);
      if (cluster.signal(role, 'SIGKILL') !== undefined) killed.push(role);
    }
    isOver = true;
  };

  const names = Array.from({ length: clients }, (_, index) => `client${index + 1}`);
  await Promise.all([killAtRandom(), ...names.map(work)]);
  await cluster.untilHealth('ok');
  await askAgain({ api: cluster.http(), ledger });

  const { partials, spentTwice } = nonceUse(cluster);
  process.stdout.write(
    `chaos: killed ${killed.join(', ')}; ${ledger.answers} answers of ${ledger.sessionIds.length} sessions, ` +
      `${ledger.signatures} signatures of ${partials} partials\n`,
  );
  expect(ledger.violations).toEqual([]);
  expect(spentTwice).toEqual([]);
  expect(ledger.sessionsOf('dkg')).toHaveLength(rounds);
  expect(ledger.signatures).toBe(rounds * signaturesInRound);
  for (const id of ledger.sessionIds) expect([id, ledger.stateOf(id)]).toEqual([id, ReceiptState.BACKEND_COMPLETED]);
  for (const role of new Set(killed)) expect(cluster.output).toMatch(new RegExp(`${role} died \\(SIGKILL\\)`));
});
