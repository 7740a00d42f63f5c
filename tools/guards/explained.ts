/**
 * Guards that a search does not find when they are disabled, and why. A guard that a search finds has no place here.
 *
 * - equivalent: clients, nodes and stores see the same without it: a type is narrowed, a bug is asserted, work is saved.
 * - tuning: it decides who is asked first, how often, or what stays in memory; every outcome is right without it.
 * - behind another: another guard holds whenever this one would; both would have to fail.
 * - out of reach: nothing in the simulated world makes its test hold; the reason names what tries it instead, if anything does.
 */
import { type Guard, nameOf } from './plant.ts';

export interface Explanation {
  readonly kind: 'equivalent' | 'tuning' | 'behind another' | 'out of reach';
  readonly why: string;
}

export function explanationOf(guard: Guard): Explanation | undefined {
  const found = explained[nameOf(guard)];
  return found && { kind: found[0], why: found[1] };
}

/** By the name of the guard (`nameOf`): the kind, and why. */
export const explained: Readonly<Record<string, readonly [kind: Explanation['kind'], why: string]>> = {
  "coordinator/call-router.ts: !isLocal(message) || !('call' in message)": [
    'equivalent',
    'narrows a type: the router sends nothing but calls to sessions',
  ],
  "coordinator/call-router.ts: input.kind !== 'message' || isLocal(input.message)": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "coordinator/cluster/cluster.ts: input.kind !== 'message'": [
    'equivalent',
    'what comes back undelivered is of a kind that the switch ignores',
  ],
  "coordinator/cluster/cluster.ts: message.role === 'gateway' #2": [
    'tuning',
    'a status is sent to a gateway that has left, and goes to no link',
  ],
  'coordinator/cluster/cluster.ts: nowMs >= state.turnBeganMs && nowMs < state.turnBeganMs + turnMs': [
    'tuning',
    'each draw begins with another node: only the load spreads in another way',
  ],
  'coordinator/cluster/cluster.ts: state.ready.get(message.nodeId)?.boot !== message.boot': [
    'tuning',
    'a node that starts anew stays among those that are drawn last, for some seconds',
  ],
  'coordinator/cluster/cluster.ts: state.storeReady === message.ready': [
    'equivalent',
    'without it gateways hear the same status again',
  ],
  'coordinator/cluster/cluster.ts: untilMs === undefined': [
    'equivalent',
    'the event node.suspected is emitted again, for logs alone',
  ],
  'coordinator/cluster/nonce-commitments.ts: isFirst': [
    'tuning',
    'a batch that begins at each of its nonces only forgets fewer of them: a node says again that it does not know one',
  ],
  'coordinator/cluster/nonce-commitments.ts: pool.nonces.length < pool.batch / 8': [
    'tuning',
    'batches that do not grow cost more requests',
  ],
  'coordinator/cluster/suspects.ts: before !== undefined && nowMs < before.untilMs': [
    'tuning',
    'a suspicion only orders draws; it then lasts longer',
  ],
  "coordinator/cluster/suspects.ts: reason === 'silent' || reason === 'slow'": [
    'tuning',
    'a suspicion only orders draws',
  ],
  'coordinator/contract/record.ts: !initialStates.includes(fresh.state)': [
    'behind another',
    'an assertion: no code begins a session in another state, and transitions-on-table finds one that does',
  ],
  'coordinator/contract/record.ts: !mayFollow(record.state, outcome.state)': [
    'behind another',
    'an assertion: no code asks for another change, and transitions-on-table finds one that does',
  ],
  'coordinator/dkg/blame.ts: error instanceof CryptoError': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'coordinator/dkg/blame.ts: openings.some((opening) => opening === undefined)': [
    'behind another',
    'isComplete: results are compared when every opening is in',
  ],
  'coordinator/dkg/blame.ts: turn.persisted || !isOpen(record.state)': [
    'behind another',
    'takeNodeMessage acts in an open session alone, and stops after its first write',
  ],
  'coordinator/dkg/calls.ts: !(error instanceof CryptoError)': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'coordinator/dkg/calls.ts: !(error instanceof CryptoError) #2': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'coordinator/dkg/calls.ts: commitments.length !== threshold': [
    'behind another',
    'validateCommitments, which follows, checks the number too, with the same reason code',
  ],
  'coordinator/dkg/calls.ts: encryptedShare.length === 0': [
    'equivalent',
    'the wording of a message: the next guard refuses it for its length',
  ],
  'coordinator/dkg/calls.ts: expireDkg(turn)': [
    'behind another',
    'advanceDkg, which follows, expires the session too; the calls in hand are answered by either',
  ],
  'coordinator/dkg/calls.ts: isWalletKey(record.sessionId)': [
    'behind another',
    'call-router.ts hides keys of wallets from clients, and no gateway gives a share for the wallet service',
  ],
  'coordinator/dkg/finalize.ts: work.jobs.length === 0 || expireDkg(turn)': [
    'behind another',
    'the timer is cancelled when the last job is answered; the scan expires the session',
  ],
  "coordinator/dkg/initiation.ts: input.kind !== 'message'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'coordinator/dkg/node-answers.ts: !nodeIds(record).includes(nodeId)': [
    'behind another',
    'takeAsked: a stranger was asked for nothing',
  ],
  'coordinator/dkg/own-shares.ts: missing.length === 0': ['equivalent', 'the wording of a message'],
  'coordinator/dkg/own-shares.ts: points.length < threshold': [
    'behind another',
    'missingPairs asks for the pair of the dealer with itself while memory holds fewer shares',
  ],
  'coordinator/dkg/own-shares.ts: work.verified.size < totalNodes * (totalNodes - 1)': [
    'equivalent',
    'saves the list of missing pairs, which says the same',
  ],
  'coordinator/dkg/replacing.ts: !owing.has(id)': [
    'tuning',
    'an answer clears it in node-answers.ts; a node that lost its link counts as silent one repetition earlier',
  ],
  'coordinator/dkg/replacing.ts: ceremony.totalNodes >= config.roster.nodes.length': [
    'equivalent',
    'a key of all nodes has no others to take',
  ],
  "coordinator/dkg/requests.ts: !('request' in body.value) || typeof body.value.request !== 'number'": [
    'behind another',
    'what has no number answers no request: the next line finds none',
  ],
  'coordinator/dkg/requests.ts: work.asked.size > askedMax': [
    'out of reach',
    '4,096 unanswered requests of one session: a bound of memory',
  ],
  'coordinator/dkg/round.ts: !turn.persisted': ['behind another', 'advanceDkg begins with the same test'],
  'coordinator/dkg/round.ts: expireDkg(turn)': [
    'behind another',
    'takeNodeMessage and takeDkgCalls expire the session first',
  ],
  'coordinator/dkg/round.ts: turn.state.work.jobs.length === 0': [
    'equivalent',
    'advanceDkg leaves the round at the next input',
  ],
  'coordinator/dkg/round.ts: turn.state.work.jobs.length === 0 #2': [
    'equivalent',
    'advanceDkg leaves the round at the next input',
  ],
  'coordinator/dkg/round.ts: verified.length === record.ceremony.verified.length': [
    'equivalent',
    'the record is written again with the same pairs',
  ],
  'coordinator/dkg/round.ts: work.flights.has(`${dealer}/dkgSeal`)': [
    'behind another',
    'ask (requests.ts) sends no second request of a kind to a node',
  ],
  "coordinator/dkg/session.ts: !work.ready.has(Number(flight.split('/')[0]))": [
    'tuning',
    'the timer repeats the request to a node that is back, a moment later',
  ],
  'coordinator/dkg/session.ts: !work.watching': [
    'equivalent',
    'a word about the nodes that comes late is followed by unwatch',
  ],
  'coordinator/dkg/session.ts: holdsShares && expireDkg(turn)': [
    'behind another',
    'the scan of expiry.ts expires the session, and the next call does',
  ],
  'coordinator/dkg/session.ts: record.state !== ReceiptState.BACKEND_COMPLETED': [
    'equivalent',
    'the key’s record is then read for nothing',
  ],
  'coordinator/dkg/session.ts: work.jobs.length === 0 || expireDkg(turn)': [
    'behind another',
    'the timer is cancelled when the last job is answered',
  ],
  'coordinator/dkg/state.ts: !(dealer >= 0 && dealer <= nodesMax && recipient >= 0 && recipient <= nodesMax)': [
    'behind another',
    'an assertion: ids are checked where they come in',
  ],
  'coordinator/dkg/state.ts: !waits && work.inspections.length === 0 && !isOpen(record.state)': [
    'equivalent',
    'the actor leaves memory when it is idle',
  ],
  'coordinator/dkg/state.ts: !work.watching': ['equivalent', 'withdraws interest that is not registered'],
  "coordinator/expiry.ts: input.kind !== 'loaded' || input.record?.kind !== 'overdue'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'coordinator/keystores/registry.ts: !name': ['equivalent', 'an assertion: every scheme has a keystore'],
  'coordinator/keystores/shared-key.ts: !derived': ['equivalent', 'an assertion: the task of a shared key has one'],
  "coordinator/reading.ts: input.kind !== 'loaded'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "coordinator/reading.ts: input.kind !== 'message' || !isLocal(input.message) || input.message.kind !== 'readCall'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'coordinator/session/message-text.ts: areFirstNodes(sharing)': ['equivalent', 'the wording of a message'],
  'coordinator/session/resume-token.ts: token.length > resumeTokenCharsMax || !token.startsWith(prefix)': [
    'behind another',
    'the length and the MAC of the next lines',
  ],
  'coordinator/session/turn.ts: turn.persisted': ['behind another', 'an assertion: every step stops after its write'],
  'coordinator/signing/advance.ts: !(error instanceof CryptoError)': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'coordinator/signing/advance.ts: !attempt || !bindsSigners(attempt)': [
    'behind another',
    'isSigner holds for every node of an attempt that binds none when it was drawn with them',
  ],
  'coordinator/signing/advance.ts: !isBusy(work) #2': [
    'equivalent',
    'the session watches the nodes and draws nonces ahead of a call; nodes are asked for nothing',
  ],
  "coordinator/signing/advance.ts: !isBusy(work) || work.key.kind !== 'known'": [
    'behind another',
    'a session that leaves its round cancels the timer, and begins a round with its key alone',
  ],
  'coordinator/signing/advance.ts: turn.persisted': [
    'behind another',
    'commit refuses a second write of a step; without one the step does what its next input would do',
  ],
  'coordinator/signing/advance.ts: turn.persisted || !isOpen(record.state)': [
    'behind another',
    'a session that is not open has no call in its round, and commit refuses a second write of a step',
  ],
  'coordinator/signing/advance.ts: watch.ready === undefined': [
    'tuning',
    'suspects are passed over at each change of the nodes, not only at the first: other nodes are asked',
  ],
  'coordinator/signing/calls.ts: !sharesNonce': [
    'behind another',
    'noncePointFault refuses every point where an attempt has none, with the same code',
  ],
  'coordinator/signing/calls.ts: ephemeralPublicKey.length !== 33 && ephemeralPublicKey.length !== 32': [
    'behind another',
    'noncePointFault refuses what is not the attempt’s point, with the same code',
  ],
  'coordinator/signing/calls.ts: expire(turn)': [
    'equivalent',
    'its test has ended the session: the call is told so in the same step',
  ],
  "coordinator/signing/finalize.ts: !isBusy(work) || work.key.kind !== 'known' || expire(turn)": [
    'equivalent',
    'its test has ended the session and answered its calls; the timer runs only while a call waits, and the key is known',
  ],
  'coordinator/signing/initiation.ts: !isForced(call)': [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "coordinator/signing/initiation.ts: call.method === 'initiateSigning' && facts.messageHash.length > residentMessageBytesMax":
    ['tuning', 'saves memory: a session with a long message is read again'],
  "coordinator/signing/initiation.ts: ceremony.kind !== 'signing'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'coordinator/signing/initiation.ts: ended': ['equivalent', 'an observation for logs'],
  'coordinator/signing/key-scheme.ts: known === undefined': [
    'equivalent',
    'an assertion: a session was opened under the scheme',
  ],
  'coordinator/signing/nodes-seen.ts: !nodes.silent.has(nodeId)': ['equivalent', 'saves a copy'],
  'coordinator/signing/order-relay.ts: refusers.size === 0': ['equivalent', 'the wording of a message'],
  'coordinator/signing/partials.ts: !isBusy(work) #2': [
    'equivalent',
    'advanceRound leaves the round at the next input',
  ],
  'coordinator/signing/partials.ts: askedOf(work.round).size === 0 && cameSlowly(attempt, nowMs)': [
    'tuning',
    'a suspicion only orders draws',
  ],
  'coordinator/signing/partials.ts: bindsSigners(attempt) && !isSigner(attempt, nodeId)': [
    'behind another',
    'the partial of a node outside the attempt does not verify: the same code',
  ],
  'coordinator/signing/partials.ts: culprits.length === 0': [
    'behind another',
    'an assertion: right partials make a right signature',
  ],
  'coordinator/signing/partials.ts: turn.persisted': [
    'equivalent',
    'nothing follows for a key at a token or a vendor: it binds no signers, and forgets no nonce',
  ],
  'coordinator/signing/previews.ts: sandbox.previews.length === 0': ['equivalent', 'saves work'],
  'coordinator/signing/previews.ts: turn.persisted || work.sandbox.previews.length === 0': [
    'equivalent',
    'the answer leaves after the write in either step; without a preview nothing is answered',
  ],
  'coordinator/signing/previews.ts: work.nodes.watch && !isBusy(work)': [
    'equivalent',
    'advanceRound leaves the round at the next input',
  ],
  'coordinator/signing/queue.ts: !nodeIds.some((id) => queue.steps.has(id))': ['equivalent', 'saves a copy'],
  'coordinator/signing/round.ts: !attempt': ['behind another', 'an assertion: callers have an attempt'],
  'coordinator/signing/round.ts: !attempt #2': ['behind another', 'an assertion: callers have an attempt'],
  'coordinator/signing/round.ts: !roundTransitions[round.phase][event]?.includes(next.phase)': [
    'behind another',
    'an assertion: no code asks for another transition',
  ],
  'coordinator/signing/round.ts: left.size === round.asked.size': ['equivalent', 'saves a copy'],
  "coordinator/signing/round.ts: round.phase !== 'asking' && round.phase !== 'collecting'": [
    'behind another',
    'a refusal comes in an attempt alone (partialReply)',
  ],
  'coordinator/signing/sandbox-work.ts: nodeIds.length === 0': ['equivalent', 'saves a copy'],
  'coordinator/signing/session.ts: !isBusy(work)': ['equivalent', 'advanceRound leaves a round in which nothing waits'],
  "coordinator/signing/session.ts: 'fault' in path": [
    'equivalent',
    'an assertion: the path of a session was validated',
  ],
  "coordinator/signing/session.ts: body.case !== 'partialReply' || nodeId === undefined || expire(turn)": [
    'behind another',
    'partialReply takes nothing without an attempt, and nothing of a node that is none',
  ],
  "coordinator/signing/session.ts: input.kind !== 'message' || !isLocal(input.message)": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'coordinator/signing/session.ts: isLoading(work)': ['equivalent', 'the key is read twice'],
  "coordinator/signing/session.ts: key.kind === 'known'": ['equivalent', 'the key is read again'],
  'coordinator/signing/session.ts: nodeId !== undefined': [
    'equivalent',
    'of an answer whose gateway is gone: an entry that no node has joins the silent ones',
  ],
  "coordinator/signing/session.ts: refusal.kind !== 'conflict'": [
    'equivalent',
    'no case below matches, and the last line does the same',
  ],
  "coordinator/signing/session.ts: said.kind === 'inspectCall' #2": [
    'equivalent',
    'the step that takes an inspection has no write',
  ],
  'coordinator/signing/state.ts: !hasInbox && !waits && !isOpen(record.state)': [
    'behind another',
    'the actor leaves memory when it is idle; the store’s epoch refuses a write from an outdated record',
  ],
  "coordinator/signing/state.ts: key.kind !== 'known'": ['equivalent', 'an assertion: the key is loaded'],
  'coordinator/signing/state.ts: record.state !== ReceiptState.BACKEND_COMPLETED': [
    'equivalent',
    'the signature of a session that is not complete is empty',
  ],
  'coordinator/signing/state.ts: work.nodes.watch': [
    'tuning',
    'the cluster tells a session that has left its round of the next change, and the session withdraws its interest then',
  ],
  'coordinator/signing/validation.ts: !(error instanceof CryptoError)': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  "coordinator/store/layout.ts: ceremony.kind !== 'signing' || !isWalletKey(ceremony.facts.keyId)": [
    'tuning',
    'sessions of keys that no wallet has are listed too, and no one closes such a key',
  ],
  "coordinator/store/layout.ts: ceremony.kind !== 'signing' || !isWalletKey(ceremony.facts.keyId) || isTerminal(state)":
    ['tuning', 'sessions of keys that no wallet has are listed too, and no one closes such a key'],
  'nodes/dkg/dealing.ts: box === undefined': [
    'behind another',
    'the coordinator checks sealing keys when openings come, and so does isSignedOpening’s dealer',
  ],
  'nodes/dkg/dealing.ts: error instanceof CryptoError': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'nodes/dkg/dkg-actor.ts: !allowed?.includes(next.phase)': [
    'behind another',
    'an assertion: no request leads elsewhere',
  ],
  "nodes/dkg/dkg-actor.ts: message.kind !== 'hsmAnswered'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'nodes/dkg/dkg-actor.ts: name !== undefined': ['equivalent', 'fields of an event'],
  "nodes/dkg/dkg-actor.ts: next.phase === 'final'": ['equivalent', 'the actor leaves memory when it is idle'],
  'nodes/dkg/party.ts: key === undefined': ['equivalent', 'an assertion: ids were checked'],
  'nodes/dkg/record.ts: json.opening === undefined': ['out of reach', 'a record of an earlier version'],
  'nodes/dkg/verifying.ts: dealers.length !== state.terms.totalNodes || !examined.every(({ verdict }) => verdict.verified)':
    ['equivalent', 'saves the sum of an incomplete attempt, which finish refuses'],
  'nodes/dkg/verifying.ts: dealers.length === state.terms.totalNodes': [
    'out of reach',
    'every share is right and their sum was refused: a sum of commitments that is the identity',
  ],
  "nodes/dkg/verifying.ts: state.phase !== 'dealing' #2": ['equivalent', 'an assertion'],
  "nodes/dkg/verifying.ts: state.phase !== 'dealing' || dealer !== party.nodeId || isHeldOutside(terms.ownKeys)": [
    'behind another',
    'no other opening has its signature; that of a broken token is refused by the other nodes',
  ],
  'nodes/dkg/verifying.ts: together !== undefined': [
    'equivalent',
    'the way that checks each share, which follows, ends with the same result',
  ],
  "nodes/records/key-record.ts: typeof json !== 'object' || json === null || (json as { v?: unknown }).v !== 1": [
    'out of reach',
    'the store authenticates records: test/nodes/key-store.test.ts',
  ],
  'nodes/records/records.ts: !recordKey.startsWith(vendorPrefix) || !tenant || !reference': [
    'equivalent',
    'wakes an actor of an order that does not exist, which stops',
  ],
  'nodes/signer/intent-memory.ts: entries === undefined': ['equivalent', 'an assertion'],
  'nodes/signer/intent-memory.ts: fromHex(digest).length !== 32': [
    'out of reach',
    'the store authenticates records: test/nodes/intent-memory.test.ts',
  ],
  'nodes/signer/intent-memory.ts: intents === undefined': [
    'out of reach',
    'the store authenticates records: test/nodes/intent-memory.test.ts',
  ],
  'nodes/signer/nonce-secrets.ts: !oldest.done': ['equivalent', 'an assertion: a full pool has an oldest nonce'],
  'nodes/signer/partials.ts: id < 1 || id > nodesMax': [
    'behind another',
    'keyFault refuses signers that hold no share, and signersFault ids that do not ascend from 1',
  ],
  'nodes/signer/signer-actor.ts: !(error instanceof CryptoError)': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  "nodes/signer/signer-actor.ts: outcome.kind !== 'failed' || outcome.fault.endsWith('_UNCONFIGURED')": [
    'equivalent',
    'an event for logs alone',
  ],
  'nodes/signer/signer-actor.ts: state.pending.isEmpty': ['equivalent', 'writes nothing'],
  "nodes/signer/signing-keys.ts: derivationPath === ''": ['equivalent', 'a path without steps derives the key itself'],
  'nodes/signer/signing-keys.ts: keyPackage === undefined': [
    'equivalent',
    'an assertion: the caller has the key at hand',
  ],
  'nodes/signer/signing-keys.ts: known !== undefined': ['equivalent', 'the child is derived again'],
  'nodes/signer/signing-keys.ts: parent === undefined': ['equivalent', 'an assertion: the caller has the key at hand'],
  'nodes/signer/signing-keys.ts: path.length === 0': ['equivalent', 'a path without steps derives the key itself'],
  'nodes/signer/waiting-requests.ts: waiting === undefined #2': [
    'equivalent',
    'nothing waits: nothing is counted down twice',
  ],
  "nodes/vendor/messages.ts: end === ''": [
    'equivalent',
    'an assertion: a settled order without a signature has an end',
  ],
  "nodes/vendor/order-actor.ts: end === 'VENDOR_SIGNATURE_INVALID'": ['equivalent', 'a text for people'],
  'nodes/vendor/order-actor.ts: name === undefined': ['equivalent', 'an assertion: its address names its order'],
  'nodes/vendor/order-actor.ts: waiting.length === 0 || record === undefined || isSettled(record)': [
    'equivalent',
    'no request waits: the timer starts again, or nothing is said',
  ],
  "nodes/vendor/routing.ts: message.kind !== 'vendorAsked'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "nodes/vendor/routing.ts: to !== vendorAddress || !('kind' in message)": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
};
