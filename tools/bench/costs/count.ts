/**
 * Counts the cost of one ceremony in the simulated world: every frame on the links with its bytes, and every durable write. The
 * actors, the codec and the gateway's orders are the live world's; only time and sockets are simulated.
 */
import type { ReleasedKind } from '../../../core/crypto/frost/released.ts';
import { KeystoreType } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { encodeFrame } from '../../../proto/wire.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import type { CeremonyCost, Sharing } from './model.ts';

/** As long as the ids that gateways make. */
const keyName = 'key_0123456789abcdefghij';
const intentName = 'int_0123456789abcdefghij';
const digest = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
/** Frames with new nonces, each of which serves many signatures. */
const dealing = new Set(['dealNonces', 'noncesDealt']);
/** Messages that belong to no single ceremony. */
const beside = new Set([...dealing, 'clusterStatus']);

export interface Counted {
  readonly dkg: CeremonyCost;
  /** A signature, without the nonces that nodes made meanwhile. */
  readonly signing: CeremonyCost;
  /** Frames with new nonces, over this many signatures. */
  readonly dealingFrames: number;
  readonly signatures: number;
}

/**
 * @param label makes a separate world: a process does not check a proof again that it has verified
 * @throws Error for any unexpected result
 */
export function countCeremonies({ n, t }: Sharing, kind: ReleasedKind, signatures = 1, label = ''): Counted {
  let cost = noCost();
  let dealt = 0;
  const cluster = new SimCluster({
    ...worldOf(`costs ${kind} ${n} ${t}${label}`, n),
    observe: (seen) => {
      if (seen.kind !== 'frame') return;
      const { envelope } = seen;
      const kindOf = envelope.message.body.case;
      if (dealing.has(kindOf)) dealt += 1;
      if (beside.has(kindOf)) return;
      cost.frames[kindOf] = (cost.frames[kindOf] ?? 0) + 1;
      cost.bytes += encodeFrame(envelope).length;
    },
    onCoordinatorWrite: () => {
      cost.coordinatorWrites += 1;
      return 'answered';
    },
    onNodeWrite: () => {
      cost.nodeWrites += 1;
      return 'answered';
    },
  });
  const curve = kind === 'ed25519' ? 'ed25519' : 'secp256k1';
  const keystoreType = kind === 'bip340' ? KeystoreType.MPC_FROST : KeystoreType.UNSPECIFIED;
  cost = noCost();
  const begun = cluster
    .initiateDkg({ sessionId: keyName, threshold: t, totalNodes: n, derivation: { curve } })
    .result();
  const made = cluster.exchangeDkgShares({ sessionId: keyName }).result();
  if (!made.verified) throw new Error(`no key: ${begun.receipt?.message}; ${made.receipt?.message}`);
  const dkg = cost;

  dealt = 0;
  let signing = noCost();
  for (let index = 0; index < signatures; index += 1) {
    cost = noCost();
    const transactionIntentId = `${intentName}${index}`;
    const { signingSessionId } = cluster
      .initiateSigning({ transactionIntentId, walletId: keyName, messageHash: digest, keystoreType })
      .result();
    const { isComplete, receipt } = cluster.submitSignatureShare({ signingSessionId }).result();
    if (!isComplete) throw new Error(`no signature: ${receipt?.message}`);
    signing = cost;
  }
  return { dkg, signing, dealingFrames: dealt, signatures };
}

/** Options of a world of n nodes. */
export function worldOf(seed: string, n: number) {
  return { seed, nodes: n, keepTrace: false, config: { nonceBatchFirst: 32 } } as const;
}

function noCost() {
  return { frames: {} as Record<string, number>, bytes: 0, coordinatorWrites: 0, nodeWrites: 0 };
}
