/**
 * THE MODEL IS NOT CRYPTOGRAPHY. It puts cheap stand-ins in the place of curves, signatures and boxes, so that a
 * simulation spends its time on what it is about: the order of messages, crashes, faults and blame. The actors run
 * unchanged, and wrong values fail the same checks. It prevents no forgery.
 *
 * The choice holds for the whole process (backend.ts). What was made with one cryptography means nothing in the other:
 * choose before the first cluster is made, or keep a whole run inside `withCryptography`. Only the simulator, what runs
 * it, and tests may import this file (rule model-crypto-only-simulated), and a live process that finds the model chosen
 * refuses to start (`cryptoBackend` in group.ts).
 */
import { type Cryptography, chooseCryptography, cryptography } from '../backend.ts';
import { ciphersuite } from '../frost/ciphersuite.ts';
import { ed25519Check } from '../frost/frost.ts';
import { groupOf, groups } from '../group.ts';
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
ed25519Check.standIn(modelEd25519Check(model.ed25519, ciphersuite('FROST-ED25519-SHA512-v1').challenge));
hashes.standIn(modelHashes);
identityScheme.standIn(modelIdentities);
sealingScheme.standIn(modelSealing);

/** From here on this process computes with the model. */
export function useModelCryptography(): void {
  chooseCryptography('model');
}

/** Back to the real one. */
export function useRealCryptography(): void {
  chooseCryptography('real');
}

/** Runs `task` to its end with one cryptography, and puts back the one before, also when it throws. Not for promises. */
export function withCryptography<T>(which: Cryptography, task: () => T): T {
  const before = cryptography();
  chooseCryptography(which);
  try {
    return task();
  } finally {
    chooseCryptography(before);
  }
}
