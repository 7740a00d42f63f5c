/**
 * The scenario for measurements of simulations: a cluster of five nodes starts, makes one key (3 of 5) and five signatures, each
 * in two calls. It has no faults and no observers, and passes frames on without the codec.
 */
import { type ReleasedKind, verifyReleased } from '../../../core/crypto/frost/released.ts';
import { KeystoreType } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';

export const signingKinds: readonly ReleasedKind[] = ['ecdsa', 'bip340', 'ed25519'];
const signaturesEach = 5;
const digest = Uint8Array.from({ length: 32 }, (_, index) => index + 1);

/** The cost and the results of a scenario. */
export interface Played {
  /** Tasks of virtual time: an actor takes an input, a frame arrives, the store answers, a timer is due. */
  readonly events: number;
  readonly virtualMs: number;
  readonly kind: ReleasedKind;
  readonly publicKey: Uint8Array;
  readonly signatures: readonly Uint8Array[];
}

/**
 * @param pauseMs virtual time that passes after the key and after each signature, while the coordinator looks for
 *   sessions past their lifetime every second, as a live one does; 0: none, and it does not look
 * @throws Error for any unexpected result
 */
export function play(seed: string, kind: ReleasedKind, pauseMs = 0): Played {
  const cluster = new SimCluster({ seed, codec: 'none', keepTrace: false, sweeping: pauseMs > 0 });
  const sessionId = 'key';
  const curve = kind === 'ed25519' ? 'ed25519' : 'secp256k1';
  const keystoreType = kind === 'bip340' ? KeystoreType.MPC_FROST : KeystoreType.UNSPECIFIED;
  cluster.initiateDkg({ sessionId, threshold: 3, totalNodes: 5, derivation: { curve } }).result();
  const made = cluster.exchangeDkgShares({ sessionId }).result();
  const publicKey = Buffer.from(cluster.storedKey('tn_sim', sessionId)?.publicKey ?? '', 'hex');
  if (!made.verified || publicKey.length === 0) throw new Error(`no key: ${made.receipt?.message}`);
  if (pauseMs > 0) cluster.time.advance(pauseMs);

  const signatures: Uint8Array[] = [];
  for (let index = 0; index < signaturesEach; index += 1) {
    const transactionIntentId = `intent ${index}`;
    const { signingSessionId } = cluster
      .initiateSigning({ transactionIntentId, walletId: sessionId, messageHash: digest, keystoreType })
      .result();
    const { isComplete, fullSignature, receipt } = cluster.submitSignatureShare({ signingSessionId }).result();
    if (!isComplete) throw new Error(`no signature: ${receipt?.message}`);
    signatures.push(fullSignature);
    if (pauseMs > 0) cluster.time.advance(pauseMs);
  }
  return {
    events: cluster.time.tasksRun,
    virtualMs: cluster.time.nowMs() - cluster.time.beganMs,
    kind,
    publicKey,
    signatures,
  };
}

/** How many of its signatures verify: with the real cryptography by another library. */
export function verifiedOf({ kind, publicKey, signatures }: Played): number {
  return signatures.filter((signature) => verifyReleased(kind, publicKey, digest, signature)).length;
}
