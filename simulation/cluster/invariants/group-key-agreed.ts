/**
 * Nodes that finish a DKG agree on the result: their stored key records name the same group key, verification shares and chain
 * code, each share belongs to its verification share, and the coordinator's key and the public key of its answers match. And a
 * key is made only from equal reports of all nodes, lies included: that is the echo. All this is so for every version of a key's
 * shares; group key and chain code are the same in all.
 */
import { type Curve, groupOf } from '../../../core/crypto/group.ts';
import { participantsOf } from '../../../core/crypto/participants.ts';
import type { NodeWrite } from '../../../nodes/records/records.ts';
import type { DkgFinished, DkgVerified } from '../../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { isRefreshSession } from '../../../proto/limits.ts';
import type { WireEnvelope } from '../../../proto/wire.ts';
import type { Checker, Observation } from '../observation.ts';
import { proofIn, publicKeyIn } from './answer-parts.ts';
import { type KeyRecordJson, keyRecordsIn } from './node-records.ts';
import { hexOf, nodeIn } from './sessions.ts';

interface Agreed {
  /** The report that every node must repeat: the first node's. */
  readonly said: string;
  readonly by: string;
  readonly publicKey: string;
}

export function groupKeyAgreed(): Checker {
  /** By "tenant/session version". */
  const keys = new Map<string, Agreed>();
  /** By "tenant/session": group key and chain code. */
  const groupKeys = new Map<string, string>();
  /** By "tenant/session/attempt": the reports of each node, also in lost frames. */
  const reports = new Map<string, Map<number, Set<string>>>();

  function reported({ from, message }: WireEnvelope): void {
    if (message.body.case !== 'dkgVerified') return;
    const { finished } = message.body.value as DkgVerified;
    if (!finished) return;
    // Its link names the node; a byzantine one may claim to be another.
    const nodeId = nodeIn(from);
    const name = `${message.tenant}/${message.session}/${message.attempt}`;
    const byNode = reports.get(name) ?? new Map<number, Set<string>>();
    reports.set(name, byNode);
    byNode.set(nodeId, (byNode.get(nodeId) ?? new Set()).add(resultText(finished)));
  }

  /** A node may have reported several results; the one that counted is among them. */
  function echoFault(name: string, keyId: string, ids: readonly number[]): string | undefined {
    // Another node may name this attempt.
    const byNode = ids.flatMap((id) => reports.get(name)?.get(id) ?? []);
    if (byNode.length < ids.length)
      return `the key ${keyId} was made, and ${byNode.length} of ${ids.length} nodes reported a result`;
    const common = [...(byNode[0] ?? [])].some((result) => byNode.every((results) => results.has(result)));
    return common ? undefined : `the key ${keyId} was made of results that are not the same`;
  }

  function say(key: string, by: string, said: string, publicKey: string, chainCode: string, version = 1) {
    const name = `${key} ${version}`;
    const first = keys.get(name);
    if (first)
      return first.said === said ? undefined : `${by} and ${first.by} hold different results of the key ${name}`;
    keys.set(name, { said, by, publicKey });
    const groupKey = `${publicKey} ${chainCode}`;
    if ((groupKeys.get(key) ?? groupKey) !== groupKey) return `version ${version} of ${key} has another group key`;
    groupKeys.set(key, groupKey);
    return undefined;
  }

  function nodeWrote(process: string, write: NodeWrite): string | undefined {
    for (const { name, key } of keyRecordsIn(write)) {
      const { public_key: publicKey, chain_code: chainCode, version } = key;
      const wrong =
        say(name, process, summary(key), publicKey, chainCode, version) ?? ownShareFault(process, name, key);
      if (wrong) return wrong;
    }
    return undefined;
  }

  return {
    invariant: 'group-key-agreed',
    observe(observation: Observation) {
      if (observation.kind === 'frame') {
        reported(observation.envelope);
        return undefined;
      }
      if (observation.kind === 'promised') {
        const { receipt } = proofIn(observation.response) ?? {};
        if (receipt?.reasonCode !== 'DKG_COMPLETED') return undefined;
        if (isRefreshSession(receipt.sessionId)) return undefined;
        const key = keys.get(`${observation.tenant}/${receipt.sessionId} 1`);
        const typed = publicKeyIn(observation.response);
        if (key && (typed === undefined || hexOf(typed) === key.publicKey)) return undefined;
        return `the receipt of the key ${receipt.sessionId} names another group key than its nodes hold`;
      }
      if (observation.kind !== 'written' || observation.outcome !== 'written') return undefined;
      if (observation.process !== 'coordinator') return nodeWrote(observation.process, observation.write);
      const { write } = observation;
      if (write.kind !== 'update' || !write.key) return undefined;
      const { tenant, keyId, curve, threshold, publicKey, chainCode, verificationShares, version = 1 } = write.key;
      const ids = participantsOf(write.key);
      const said = [curve, threshold, ids, publicKey, chainCode, ...verificationShares].join(' ');
      // New shares are committed before any node replaces its own.
      if (!keys.has(`${tenant}/${keyId} 1`)) return `the coordinator has a key ${keyId} that no node has made final`;
      const attempt = `${tenant}/${write.session.sessionId}/${write.session.ceremony.attempt}`;
      const wrong = say(`${tenant}/${keyId}`, 'coordinator', said, publicKey, chainCode, version);
      return wrong ?? echoFault(attempt, keyId, ids);
    },
  };
}

function summary(key: KeyRecordJson): string {
  const { curve, threshold, public_key, chain_code, verification_shares } = key;
  return [curve, threshold, holdersOf(key), public_key, chain_code, ...verification_shares].join(' ');
}

function holdersOf({ total_nodes: totalNodes, participants }: KeyRecordJson): readonly number[] {
  return participantsOf({ totalNodes, participants });
}

/** A share is valid when it is the secret of its own verification share. */
function ownShareFault(process: string, name: string, key: KeyRecordJson): string | undefined {
  // A token holds the share, and has proved possession.
  if (key.signing_share === '') return undefined;
  const group = groupOf(key.curve as Curve);
  const share = group.decodeScalar(Buffer.from(key.signing_share, 'hex'));
  if (hexOf(group.baseMultiply(share)) === key.verification_shares[holdersOf(key).indexOf(key.node_id)])
    return undefined;
  return `${process} made the key ${name} final with a share that is not the one of its verification share`;
}

function resultText({ publicKey, chainCode, transcriptDigest, verificationShares }: DkgFinished): string {
  return [publicKey, chainCode, transcriptDigest, ...verificationShares].map(hexOf).join(' ');
}
