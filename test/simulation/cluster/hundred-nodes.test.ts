/**
 * The largest cluster: 100 nodes with threshold 51, in a thorough run. In `npm test` its signatures are made without a cluster
 * (test/core/crypto/frost/frost.test.ts), and the embedded service begins its keys (test/cli/start-signals.test.ts).
 */
import { expect, test } from 'vitest';
import { nodesMax } from '../../../proto/limits.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import { codeOf, digest } from '../../coordinator/support/world.ts';
import { useModelCryptography } from '../../support/model-cryptography.ts';
import { isThorough } from '../../support/thorough.ts';

useModelCryptography();

test.runIf(isThorough).each(['secp256k1', 'ed25519'])('100 nodes make a key of %s, and 51 of them sign', (curve) => {
  const cluster = new SimCluster({
    seed: 'hundred',
    nodes: nodesMax,
    sharing: { threshold: 51, totalNodes: nodesMax },
  });
  cluster.initiateDkg({ sessionId: 'k', derivation: { curve } }).result();
  expect(codeOf(cluster.exchangeDkgShares({ sessionId: 'k' }).result())).toBe('DKG_COMPLETED');
  const begun = cluster.initiateSigning({ transactionIntentId: 'i', walletId: 'k', messageHash: digest }).result();
  const signed = cluster.submitSignatureShare({ signingSessionId: begun.signingSessionId }).result();
  expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
  const { submitted } = cluster.inspectSession({ sessionId: begun.signingSessionId }).result();
  expect(submitted).toHaveLength(51);
});
