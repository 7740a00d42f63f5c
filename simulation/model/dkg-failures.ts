/**
 * The reference model of a key generation that fails: the evidence for each reason, the nodes that the record names, and the
 * nodes of the next attempt. Written from docs/signing-api.md and docs/protocol.md.
 *
 * `honest-never-blamed` checks that no honest node is named as a culprit.
 */
import type { DkgRecord, SessionOf } from '../../coordinator/contract/record.ts';
import type { DkgRefused, DkgVerified, DkgVerify } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireEnvelope } from '../../proto/wire.ts';
import { hexOf, type SessionChange } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { type History, holdersOf } from './history.ts';

const S = ReceiptState;
type DkgSession = SessionOf<DkgRecord>;
const tokenFault = /^(KEYSTORE_UNAVAILABLE|HSM_|VENDOR_)/;

/** The nodes' messages in one attempt. */
interface Words {
  /** The refusal codes of each node. */
  readonly refused: Map<number, Set<string>>;
  /** Nodes that complained about a dealer, or reported no result, and dealers that a node complained about. */
  readonly disputed: Set<number>;
  /** "recipient dealer" of complaints about a sealed share that the coordinator itself relayed: it can evaluate those. */
  readonly provable: Set<string>;
  /** The results that each node reported. */
  readonly results: Map<number, Set<string>>;
}

export function dkgFailures(history: History, nodesTotal: number): Checker {
  /** "tenant/session attempt" */
  const words = new Map<string, Words>();
  /** "node/2/dkg/tenant/session": dealers of the sealed shares in its last request to verify. */
  const relayed = new Map<string, readonly number[]>();
  /** Nodes whose request from the coordinator a fault changed. */
  const misled = new Set<string>();

  const wordsOf = (name: string): Words => {
    let found = words.get(name);
    if (found === undefined) {
      found = { refused: new Map(), disputed: new Set(), provable: new Set(), results: new Map() };
      words.set(name, found);
    }
    return found;
  };

  function asked({ to, message: { body } }: WireEnvelope, touched: boolean): void {
    if (touched) misled.add(to);
    if (body.case !== 'dkgVerify') return;
    relayed.set(
      to,
      (body.value as DkgVerify).sealed.map(({ dealer }) => dealer),
    );
  }

  function heard({ from, to, message: { attempt, body } }: WireEnvelope, touched: boolean): void {
    if (body.case !== 'dkgRefused' && body.case !== 'dkgVerified') return;
    const node = Number(from.split('/')[1]);
    // The address names its session, whatever the frame says.
    const { refused, disputed, provable, results } = wordsOf(`${to.replace(/^dkg\//, '')} ${attempt}`);
    if (body.case === 'dkgRefused') {
      const { code } = body.value as DkgRefused;
      refused.set(node, (refused.get(node) ?? new Set()).add(code));
      return;
    }
    const { verdicts, finished } = body.value as DkgVerified;
    for (const { dealer, verified, code } of verdicts) {
      if (verified) continue;
      disputed.add(node).add(dealer);
      const isRelayed = relayed.get(from)?.includes(dealer) && !touched && !misled.has(from);
      if (isRelayed && (code === 'SHARE_INVALID' || code === 'BOX_BROKEN')) provable.add(`${node} ${dealer}`);
    }
    if (!finished) {
      disputed.add(node);
      return;
    }
    const { publicKey, verificationShares, chainCode, transcriptDigest } = finished;
    const text = [publicKey, ...verificationShares, chainCode, transcriptDigest].map(hexOf).join();
    results.set(node, (results.get(node) ?? new Set()).add(text));
  }

  function changed({ record, before }: SessionChange): string | undefined {
    if (record.ceremony.kind !== 'dkg' || before?.ceremony.kind !== 'dkg') return undefined;
    const [next, known] = [record as DkgSession, before as DkgSession];
    const wrong =
      (next.state === S.BACKEND_FAILED && known.state !== S.BACKEND_FAILED && failed(next, known)) ||
      (next.ceremony.attempt !== known.ceremony.attempt && replaced(next, known));
    return wrong ? `key ${record.sessionId} at epoch ${record.epoch} (${record.reasonCode}): ${wrong}` : undefined;
  }

  function failed(
    { ceremony, reasonCode }: DkgSession,
    { ceremony: known, ...before }: DkgSession,
  ): string | undefined {
    const { culprits = [], stalledBy = [] } = ceremony;
    const { refused, disputed, provable, results } = wordsOf(`${before.tenant}/${before.sessionId} ${known.attempt}`);
    const holders = holdersOf(known);
    for (const list of [culprits, stalledBy]) {
      if (list.some((id, index) => index > 0 && id <= list[index - 1]!))
        return 'the nodes that it names are not ascending';
      const stranger = list.find((id) => !holders.includes(id));
      if (stranger !== undefined) return `it names node ${stranger}, which takes no part`;
    }
    if (reasonCode === 'NODES_UNAVAILABLE') {
      return ceremony.attempt === known.attempt ? undefined : 'nodes are unreachable, and its attempt is abandoned';
    }
    if ((reasonCode === 'DEALER_MISBEHAVED') !== culprits.length > 0) return `it names ${culprits.length} culprits`;
    if ((ceremony.attempt === known.attempt) !== (known.mayBeFinal === true))
      return 'its attempt ends although its key may be final, or continues although it may not';
    if (reasonCode === 'NODE_REFUSED' || tokenFault.test(reasonCode)) {
      if (stalledBy.length === 0) return 'it names no node';
      const innocent = stalledBy.find((id) => !refused.has(id) && !disputed.has(id));
      if (innocent !== undefined) return `node ${innocent} refused nothing and disputed nothing`;
      const [one, other] = stalledBy;
      if (stalledBy.length === 2 && (provable.has(`${one} ${other}`) || provable.has(`${other} ${one}`)))
        return `nodes ${one} and ${other} differ about a sealed share, and it names no culprit`;
    }
    if (tokenFault.test(reasonCode)) {
      const code = (text: string) => (text.endsWith('_UNCONFIGURED') ? 'KEYSTORE_UNAVAILABLE' : text);
      const said = stalledBy.some((id) => [...(refused.get(id) ?? [])].some((text) => code(text) === reasonCode));
      return said ? undefined : 'its node did not say so';
    }
    const isOutside = /^(hsm|vendor)_/.test(known.scheme ?? '');
    const codes = stalledBy.flatMap((id) => [...(refused.get(id) ?? [])]);
    if (reasonCode === 'NODE_REFUSED' && isOutside && codes.length > 0 && codes.every((code) => tokenFault.test(code)))
      return `its token failed (${codes.join()}), and it does not say so`;
    if (reasonCode === 'TRANSCRIPT_MISMATCH' && new Set([...results.values()].flatMap((said) => [...said])).size < 2)
      return 'its nodes report one result';
    return undefined;
  }

  /** Another attempt: it begins empty, and replaces nodes that stopped this one. */
  function replaced({ ceremony, state }: DkgSession, { ceremony: known }: DkgSession): string | undefined {
    const holders = holdersOf(ceremony);
    const gone = holdersOf(known).filter((id) => !holders.includes(id));
    const come = holders.filter((id) => !holdersOf(known).includes(id));
    if (holders.some((id) => id < 1 || id > nodesTotal)) return 'its nodes are not of the roster';
    if (ceremony.verified.length > 0) return 'it begins another attempt with verified pairs';
    const { leftOut = [], culprits = [], stalledBy = [] } = ceremony;
    const early = known.leftOut ?? [];
    if (early.some((id) => !leftOut.includes(id))) return 'a node that was left out is forgotten';
    const back = come.find((id) => early.includes(id));
    if (back !== undefined) return `node ${back} was left out and comes back`;
    const unnamed = gone.find((id) => !leftOut.includes(id));
    if (unnamed !== undefined) return `node ${unnamed} goes and is not left out`;
    if (state !== S.BACKEND_FAILED && known.verified.length > 0 && (known.stalledBy ?? []).length === 0)
      return 'it begins anew, and clients heard of verified pairs';
    if (state !== S.BACKEND_FAILED) return gone.length === 0 ? 'it begins anew with the same nodes' : undefined;
    const innocent = gone.find((id) => !culprits.includes(id) && !stalledBy.includes(id));
    return innocent === undefined ? undefined : `node ${innocent} goes, and did not stop it`;
  }

  return {
    invariant: 'failure-as-modelled',
    observe(observation: Observation) {
      if (observation.kind === 'frame') {
        const { envelope, touched } = observation;
        if (envelope.from.startsWith('node/')) heard(envelope, touched);
        else if (envelope.to.startsWith('node/')) asked(envelope, touched);
        return undefined;
      }
      if (observation.kind === 'process' && observation.process === 'coordinator') relayed.clear();
      if (observation.kind !== 'written') return undefined;
      for (const change of history.changes) {
        const wrong = changed(change);
        if (wrong) return wrong;
      }
      return undefined;
    },
  };
}
