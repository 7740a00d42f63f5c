/**
 * THE MODEL IS NOT CRYPTOGRAPHY. It replaces curves, signatures and boxes with cheap stand-ins, so that a simulation spends its
 * time on its subject: the order of messages, crashes, faults and blame. The actors run unchanged, and wrong values fail the
 * same checks. It prevents no forgery.
 *
 * The choice belongs to a run: it holds for one synchronous task, and no other code of the process runs meanwhile. So one
 * variable can hold it (backend.ts), and runs with different cryptographies may take turns, each step within
 * `withCryptography`. A value of one cryptography is meaningless in the other. Only the simulator, its runners and tests may
 * import this file (rule model-crypto-only-simulated), and a live process that finds the model chosen refuses to start
 * (`cryptoBackend` in group.ts).
 */
import { type Cryptography, chooseCryptography, cryptography } from '../backend.ts';
import { ed25519Check } from '../ed25519-check.ts';
import { evmAddresses } from '../evm-address.ts';
import { ciphersuite } from '../frost/ciphersuite.ts';
import { groupOf, groups } from '../group.ts';
import { uncompressing } from '../group-secp256k1.ts';
import { hashes } from '../hashing.ts';
import { identityScheme } from '../identity.ts';
import { ecdsaChecks } from '../mock-ecdsa.ts';
import { sealingScheme } from '../sealing.ts';
import { modelGroups } from './group.ts';
import { modelHashes } from './hashing.ts';
import { modelIdentities } from './identity.ts';
import { modelSealing } from './sealing.ts';
import { modelEcdsa, modelEd25519Check } from './signatures.ts';

const model = modelGroups({ secp256k1: groupOf('secp256k1').order, ed25519: groupOf('ed25519').order });
groups.standIn(model);
ecdsaChecks.standIn(modelEcdsa(model.secp256k1));
// The whole abscissa of the model is too long; its end distinguishes keys.
evmAddresses.standIn((publicKey) => publicKey.slice(13));
uncompressing.standIn((publicKey) => {
  // An element has no ordinate: the sign replaces it.
  const point = new Uint8Array(65);
  model.secp256k1.elementOf(publicKey);
  point.set(publicKey.subarray(1), 1);
  point.set([4], 0);
  point.set([publicKey[0]!], 64);
  return point;
});
ed25519Check.standIn(modelEd25519Check(model.ed25519, ciphersuite('FROST-ED25519-SHA512-v1').challenge));
hashes.standIn(modelHashes);
identityScheme.standIn(modelIdentities);
sealingScheme.standIn(modelSealing);

/**
 * Runs `task` to its end with one cryptography, and restores the previous one, also when it throws. Throws an Error when the
 * task returns a promise: its remaining steps would compute with another cryptography.
 */
export function withCryptography<T>(which: Cryptography, task: () => T): T {
  const before = cryptography();
  chooseCryptography(which);
  try {
    const result = task();
    if (typeof (result as { readonly then?: unknown } | undefined)?.then === 'function') {
      throw new Error('a choice of cryptography does not last until a promise settles');
    }
    return result;
  } finally {
    chooseCryptography(before);
  }
}

/**
 * Chooses a cryptography until the returned function is called, for a loop that runs one event after another and then lets
 * settled promises run. The loop calls it anew whenever it continues after a wait, and ends it when done: other loops of this
 * process may have chosen meanwhile.
 */
export function holdCryptography(which: Cryptography): () => void {
  const before = cryptography();
  chooseCryptography(which);
  return () => chooseCryptography(before);
}
