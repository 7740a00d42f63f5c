/** Whatever lies some nodes tell on whatever links: an honest node is never named, and a released signature verifies. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { byzantineKinds } from '../../../scenarios/faults/vocabulary/kinds.ts';
import { refusalCodes } from '../../../scenarios/faults/vocabulary/refusal-codes.ts';
import { blamed, codeOf, digest, groupKey, tokenOf } from '../../coordinator/support/world.ts';
import { FaultFixture } from './support/fault-fixture.ts';

const hows: Readonly<Partial<Record<(typeof byzantineKinds)[number], readonly string[]>>> = {
  bad_share: ['random', 'zero', 'unopenable', 'malformed'],
  bad_commitment: ['other', 'too_few', 'too_many', 'identity', 'malformed'],
  bad_nonces: ['identity', 'invalid', 'duplicate', 'malformed'],
};

const alteredFields = [
  'opening.signature',
  'shares.0.box',
  'finished.public_key',
  'outcome.partial',
  'nonces.0.hiding',
];

/** The fields that its kind has. */
function sensible<T extends { fault: (typeof byzantineKinds)[number]; code: string; how: number }>(drawn: T) {
  const { code, how, ...fault } = drawn;
  const ways = hows[fault.fault];
  return {
    ...fault,
    ...(fault.fault === 'false_refusal' && { code }),
    ...(ways && { how: ways[how % ways.length] }),
    ...(fault.fault === 'altered_answer' && { field: alteredFields[how % alteredFields.length]!, change: 'other' }),
  };
}

const lie = fc
  .record(
    {
      fault: fc.constantFrom(...byzantineKinds),
      target: fc.constantFrom('node/2', 'node/3'),
      probability: fc.constantFrom(0.5, 1),
      count: fc.integer({ min: 1, max: 3 }),
      code: fc.constantFrom(...refusalCodes),
      how: fc.nat(),
    },
    { requiredKeys: ['fault', 'target', 'code', 'how'] },
  )
  .map(sensible);
const weather = fc.constantFrom<Fault>(
  { fault: 'duplicate', target: 'node/*', probability: 0.3 },
  { fault: 'reorder', target: 'node/*', within_ms: 30 },
  { fault: 'drop', target: 'node/*', probability: 0.05 },
  { fault: 'delay', target: 'node/*', max_ms: 500, probability: 0.2 },
  { fault: 'slow', target: 'node/1', by_ms: 100 },
);

test('honest nodes are never named, and what is signed verifies', () => {
  let named = 0;
  let signed = 0;
  fc.assert(
    fc.property(
      fc.constantFrom('secp256k1', 'ed25519'),
      fc.array(lie, { minLength: 1, maxLength: 3 }),
      fc.array(weather, { maxLength: 2 }),
      fc.nat(),
      fc.boolean(),
      (curve, lies, links, seed, crashes) => {
        const fixture = new FaultFixture(`honest ${seed}`, 3, { partialTimeoutMs: 300, nodesWaitMs: 3000 });
        const { cluster } = fixture;
        for (const fault of [...lies, ...links]) fixture.arm(fault as Fault);
        const sessionId = 's';
        cluster.initiateDkg({ sessionId, threshold: 2, totalNodes: 3, derivation: { curve } }).result();
        let made = cluster.exchangeDkgShares({ sessionId }).result();
        for (let attempt = 1; codeOf(made) !== 'DKG_COMPLETED'; attempt += 1) {
          if (crashes && attempt === 1) {
            cluster.crash('coordinator');
            cluster.start('coordinator');
          }
          if (attempt === 3) fixture.engine.clear(cluster.time.nowMs());
          // Whether a key comes of it at last is not asked here.
          if (attempt === 5) break;
          expect(made.receipt!.resumable).toBe(true);
          cluster.resumeSession({ sessionId, resumeToken: tokenOf(made) }).result();
          made = cluster.exchangeDkgShares({ sessionId }).result();
        }
        const liars = lies.map(({ target }) => Number(target.slice(5)));
        const strangers = () => blamed(cluster).filter((id) => !liars.includes(id));
        expect(strangers()).toEqual([]);
        if (blamed(cluster).length > 0) named += 1;
        if (codeOf(made) !== 'DKG_COMPLETED') return;
        const begun = cluster
          .initiateSigning({ transactionIntentId: 't', walletId: sessionId, messageHash: digest })
          .result();
        const { signingSessionId } = begun;
        const done = cluster.submitSignatureShare({ signingSessionId }).result();
        expect(strangers()).toEqual([]);
        if (!done.isComplete) return;
        signed += 1;
        const publicKey = groupKey(cluster, sessionId);
        const right =
          curve === 'ed25519'
            ? ed25519.verify(done.fullSignature, digest, publicKey)
            : secp256k1.verify(done.fullSignature, digest, publicKey, { prehash: false });
        expect(right).toBe(true);
      },
    ),
    // The first run is not drawn: a lie that is named, and a signature after it.
    {
      numRuns: 8,
      examples: [['secp256k1', [{ fault: 'bad_share', how: 'random', target: 'node/2', count: 1 }], [], 1, false]],
    },
  );
  expect(Math.min(named, signed)).toBeGreaterThan(0);
});
