/**
 * Guards that a search does not find when they are disabled, and why.
 *
 * - equivalent: clients, nodes and stores see the same without it: a type is narrowed, a bug is asserted, work is saved.
 * - behind another: another guard holds whenever this one would; both would have to fail.
 * - out of reach: nothing in the simulated world makes its test hold; the reason names what tries it instead, if anything does.
 */
import type { Guard } from './plant.ts';

export interface Explanation {
  readonly kind: 'equivalent' | 'behind another' | 'out of reach';
  readonly why: string;
}

export function explanationOf({ file, text }: Pick<Guard, 'file' | 'text'>): Explanation | undefined {
  const found = explained[`${file}: ${text}`];
  return found && { kind: found[0], why: found[1] };
}

/** By "file: test": the kind, and why. */
export const explained: Readonly<Record<string, readonly [kind: Explanation['kind'], why: string]>> = {
  "coordinator/cluster/cluster.ts: input.kind !== 'message'": [
    'equivalent',
    'what comes back undelivered is of a kind that the switch ignores',
  ],
  'coordinator/cluster/cluster.ts: state.storeReady === message.ready': [
    'equivalent',
    'without it gateways hear the same status again',
  ],
  'coordinator/cluster/cluster.ts: state.ready.get(message.nodeId)?.boot !== message.boot': [
    'equivalent',
    'of a node that connects: a suspicion only orders draws (the search finds the other one, of a link that is lost)',
  ],
  'coordinator/cluster/cluster.ts: untilMs === undefined': [
    'equivalent',
    'the event node.suspected is emitted again, for logs alone',
  ],
  'coordinator/cluster/nonce-commitments.ts: isFirst': [
    'equivalent',
    'a batch that begins at each of its nonces only forgets fewer of them',
  ],
  'coordinator/cluster/suspects.ts: before !== undefined && nowMs < before.untilMs': [
    'equivalent',
    'a suspicion only orders draws; it then lasts longer',
  ],
  "coordinator/cluster/suspects.ts: reason === 'silent' || reason === 'slow'": [
    'equivalent',
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
  'coordinator/dkg/calls.ts: !(error instanceof CryptoError)': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'coordinator/signing/advance.ts: !(error instanceof CryptoError)': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'coordinator/signing/validation.ts: !(error instanceof CryptoError)': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'coordinator/dkg/blame.ts: turn.persisted || !isOpen(record.state)': [
    'behind another',
    'takeNodeMessage acts in an open session alone, and stops after its first write',
  ],
  'coordinator/dkg/blame.ts: !dealerOpening || !recipientOpening': [
    'out of reach',
    'a verdict comes after both openings of the attempt, unless the coordinator restarted in it',
  ],
  'coordinator/dkg/blame.ts: openings.some((opening) => opening === undefined)': [
    'behind another',
    'isComplete: results are compared when every opening is in',
  ],
  'coordinator/dkg/calls.ts: expireDkg(turn)': [
    'behind another',
    'advanceDkg, which follows, expires the session too; the calls in hand are answered by either',
  ],
  'coordinator/dkg/calls.ts: isWalletKey(record.sessionId)': [
    'behind another',
    'call-router.ts hides keys of wallets from clients, and no gateway gives a share for the wallet service',
  ],
  'coordinator/dkg/calls.ts: encryptedShare.length === 0': [
    'equivalent',
    'the wording of a message: the next guard refuses it for its length',
  ],
  'coordinator/dkg/session.ts: holdsShares && expireDkg(turn)': [
    'behind another',
    'the scan of expiry.ts expires the session, and the next call does',
  ],
  "coordinator/dkg/calls.ts: 'fault' in checked": [
    'behind another',
    'the wallet service makes one key by one set of terms: call-router.ts and the session’s beginning checked them',
  ],
  'coordinator/dkg/finalize.ts: work.jobs.length === 0 || expireDkg(turn)': [
    'behind another',
    'the timer is cancelled when the last job is answered; the scan expires the session',
  ],
  "coordinator/dkg/initiation.ts: input.kind !== 'message'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'coordinator/dkg/initiation.ts: fixed && (threshold !== fixed.threshold || totalNodes !== fixed.totalNodes)': [
    'behind another',
    'the next guard refuses the same with another sentence, unless a token’s key has several nodes, which the nodes refuse',
  ],
  'coordinator/dkg/node-answers.ts: !nodeIds(record).includes(nodeId)': [
    'behind another',
    'takeAsked: a stranger was asked for nothing',
  ],
  'coordinator/dkg/node-answers.ts: work.watching': [
    'equivalent',
    'the timer of a round that is over has nothing to do when it fires',
  ],
  'coordinator/dkg/node-answers.ts: known(work) > before && !turn.persisted': [
    'equivalent',
    'what is asked for again is answered again, from what stands',
  ],
  'coordinator/dkg/own-shares.ts: work.verified.size < totalNodes * (totalNodes - 1)': [
    'equivalent',
    'saves the list of missing pairs, which says the same',
  ],
  'coordinator/dkg/own-shares.ts: missing.length === 0': ['equivalent', 'the wording of a message'],
  'coordinator/dkg/replacing.ts: !owing.has(id)': ['equivalent', 'what an answer clears in node-answers.ts'],
  'coordinator/dkg/requests.ts: work.asked.size > askedMax': [
    'out of reach',
    '4,096 unanswered requests of one session: a bound of memory',
  ],
  "coordinator/dkg/requests.ts: !('request' in body.value) || typeof body.value.request !== 'number'": [
    'behind another',
    'what has no number answers no request: the next line finds none',
  ],
  'coordinator/dkg/requests.ts: work.lastRequest === 0': [
    'out of reach',
    'that two actors of one session number alike takes a restart and an answer to the first; the seeds do not meet it',
  ],
  'coordinator/dkg/round.ts: turn.persisted || !isOpen(record.state)': [
    'behind another',
    'jobs are in open sessions alone; a second write throws, and every caller returns after one',
  ],
  'coordinator/dkg/round.ts: expireDkg(turn)': [
    'behind another',
    'takeNodeMessage and takeDkgCalls expire the session first',
  ],
  'coordinator/dkg/round.ts: done.length > 0': [
    'behind another',
    'jobs whose pairs are all in are answered when the round ends',
  ],
  'coordinator/dkg/round.ts: recipient !== dealer': [
    'equivalent',
    'the share of a dealer for itself is kept and never read',
  ],
  'coordinator/dkg/round.ts: turn.state.work.jobs.length === 0': [
    'equivalent',
    'advanceDkg leaves the round at the next input',
  ],
  'coordinator/dkg/session.ts: !work.watching': [
    'equivalent',
    'a word about the nodes that comes late is followed by unwatch',
  ],
  "coordinator/dkg/session.ts: !work.ready.has(Number(flight.split('/')[0]))": [
    'equivalent',
    'the timer repeats the request to a node that is back, with the same result',
  ],
  'coordinator/dkg/session.ts: record.state !== ReceiptState.BACKEND_COMPLETED': [
    'equivalent',
    'the key’s record is then read for nothing',
  ],
  'coordinator/dkg/session.ts: work.jobs.length === 0 || expireDkg(turn)': [
    'behind another',
    'the timer is cancelled when the last job is answered',
  ],
  'coordinator/dkg/state.ts: !work.watching': ['equivalent', 'withdraws interest that is not registered'],
  'coordinator/dkg/state.ts: !waits && work.inspections.length === 0 && !isOpen(record.state)': [
    'equivalent',
    'the actor leaves memory when it is idle',
  ],
  'coordinator/dkg/state.ts: !(dealer >= 0 && dealer <= nodesMax && recipient >= 0 && recipient <= nodesMax)': [
    'behind another',
    'an assertion: ids are checked where they come in',
  ],
  "coordinator/expiry.ts: input.kind === 'message'": [
    'out of reach',
    'without it no scan is made; the search’s short lifetimes end by calls, and lifetime-kept finds it in a quiet run',
  ],
  "coordinator/expiry.ts: input.kind !== 'loaded' || input.record?.kind !== 'overdue'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "coordinator/call-router.ts: input.kind !== 'message' || isLocal(input.message)": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "coordinator/call-router.ts: input.kind === 'undelivered'": [
    'out of reach',
    'a session’s mailbox takes 256 messages: test/actors fills mailboxes',
  ],
  "coordinator/call-router.ts: !isLocal(message) || !('call' in message)": [
    'out of reach',
    'a session’s mailbox takes 256 messages: test/actors fills mailboxes',
  ],
  "coordinator/call-router.ts: body.case !== 'call' || !input.from.startsWith('gateway/')": [
    'behind another',
    'the link refuses frames in another’s name (actors/live, sim/network.ts)',
  ],
  "coordinator/call-router.ts: call.method === 'makeKey' && !isWalletKey(sessionId)": [
    'out of reach',
    'the wallet service names its keys itself: test/coordinator/make-key.test.ts',
  ],
  'coordinator/call-router.ts: !facts.walletService || !isWalletKey(keyId) || !sessionIdPattern.test(keyId)': [
    'out of reach',
    'gateways alone send it, for themselves: test/coordinator/wallet-keys.test.ts',
  ],
  'coordinator/keystores/registry.ts: !name': ['equivalent', 'an assertion: every scheme has a keystore'],
  'coordinator/sandbox-calls.ts: !isSandbox': [
    'out of reach',
    'simulated coordinators are those of a sandbox: test/coordinator/inspection.test.ts',
  ],
  'coordinator/sandbox-calls.ts: !sessionIdPattern.test(sessionId)': [
    'behind another',
    'no session has such an id: the actor finds none',
  ],
  'coordinator/sandbox-calls.ts: !isSigning': ['behind another', 'no session has such an id: the actor finds none'],
  "coordinator/session/replies.ts: record?.ceremony.kind !== 'dkg'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'coordinator/session/resume-token.ts: token.length > resumeTokenCharsMax || !token.startsWith(prefix)': [
    'behind another',
    'the length and the MAC of the next lines',
  ],
  "coordinator/session/resume-token.ts: bytes.length !== tokenBytes || bytes.toString('base64url') !== body": [
    'behind another',
    'the MAC of the next lines',
  ],
  'coordinator/session/turn.ts: turn.persisted': ['behind another', 'an assertion: every step stops after its write'],
  'coordinator/session/message-text.ts: areFirstNodes(sharing)': ['equivalent', 'the wording of a message'],
  'coordinator/signing/advance.ts: wanted.size === 0': [
    'equivalent',
    'the timer of silence begins anew, as after a request',
  ],
  'coordinator/signing/advance.ts: work.nodes.watch': ['equivalent', 'leaves a round that was left'],
  'coordinator/signing/advance.ts: !awaitsDraw(round, ticket) || !task': [
    'out of reach',
    'nonces of a draw that was withdrawn meet a session that draws anew within one message',
  ],
  'coordinator/signing/advance.ts: !attempt || !bindsSigners(attempt)': [
    'behind another',
    'isSigner holds for every node of an attempt that binds none when it was drawn with them',
  ],
  'coordinator/signing/calls.ts: call.fault': [
    'behind another',
    'call-router.ts refuses calls that begin; of others every field that can be too long is cut',
  ],
  'coordinator/signing/initiation.ts: !isForced(call)': [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "coordinator/signing/initiation.ts: refusal.kind === 'conflict' && refusal.code === 'INTENT_ELSEWHERE' && refusal.current?.kind === 'elsewhere'":
    ['out of reach', 'runs have one cluster: scenarios with several clusters have it'],
  "coordinator/signing/initiation.ts: ceremony.kind !== 'signing'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "coordinator/signing/initiation.ts: call.method === 'initiateSigning' && facts.messageHash.length > residentMessageBytesMax":
    ['equivalent', 'saves memory: a session with a long message is read again'],
  'coordinator/signing/initiation.ts: ended': ['equivalent', 'an observation for logs'],
  'coordinator/signing/key-scheme.ts: known === undefined': [
    'equivalent',
    'an assertion: a session was opened under the scheme',
  ],
  'coordinator/signing/nodes-seen.ts: !nodes.silent.has(nodeId)': ['equivalent', 'saves a copy'],
  'coordinator/signing/order-relay.ts: !order': [
    'out of reach',
    'the simulated gateway orders every session: test/coordinator/order-relay.test.ts',
  ],
  'coordinator/signing/order-relay.ts: refusers.size === 0': ['equivalent', 'the wording of a message'],
  'coordinator/signing/partials.ts: culprits.length === 0 && dealersAtFault(attempt).length === 0': [
    'behind another',
    'an assertion: right partials make a right signature',
  ],
  'coordinator/signing/partials.ts: !isBusy(work)': ['equivalent', 'advanceRound leaves the round at the next input'],
  'coordinator/signing/advance.ts: turn.persisted': [
    'behind another',
    'commit refuses a second write of a step; without one the step does what its next input would do',
  ],
  'coordinator/signing/previews.ts: turn.persisted || work.sandbox.previews.length === 0': [
    'equivalent',
    'the answer leaves after the write in either step; without a preview nothing is answered',
  ],
  'coordinator/signing/state.ts: !hasInbox && !waits && !isOpen(record.state)': [
    'behind another',
    'the actor leaves memory when it is idle; the store’s epoch refuses a write from an outdated record',
  ],
  'coordinator/signing/previews.ts: sandbox.previews.length === 0': ['equivalent', 'saves work'],
  'coordinator/signing/previews.ts: sandbox.previews.length > 0': ['equivalent', 'saves a copy'],
  'coordinator/signing/previews.ts: work.nodes.watch && !isBusy(work)': [
    'equivalent',
    'advanceRound leaves the round at the next input',
  ],
  'coordinator/signing/queue.ts: !nodeIds.some((id) => queue.steps.has(id))': ['equivalent', 'saves a copy'],
  'coordinator/signing/sandbox-work.ts: nodeIds.length === 0': ['equivalent', 'saves a copy'],
  'coordinator/signing/round.ts: left.length === round.asked.size': ['equivalent', 'saves a copy'],
  'coordinator/signing/round.ts: !roundTransitions[round.phase][event]?.includes(next.phase)': [
    'behind another',
    'an assertion: no code asks for another transition',
  ],
  'coordinator/signing/round.ts: !attempt': ['behind another', 'an assertion: callers have an attempt'],
  "coordinator/signing/round.ts: round.phase !== 'asking' && round.phase !== 'collecting'": [
    'behind another',
    'a refusal comes in an attempt alone (partialReply)',
  ],
  "coordinator/signing/session.ts: input.kind !== 'message' || !isLocal(input.message)": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "coordinator/signing/session.ts: input.message.kind !== 'clientCall'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'coordinator/signing/session.ts: isLoading(work)': ['equivalent', 'the key is read twice'],
  'coordinator/store/layout.ts: Object.keys(fields).length === 0': [
    'out of reach',
    'reads what stands in Redis: test/coordinator/store-macs.test.ts',
  ],
  'coordinator/store/layout.ts: isElsewhere(cluster, own)': [
    'out of reach',
    'reads what stands in Redis: test/coordinator/store-macs.test.ts',
  ],
  'coordinator/store/layout.ts: cluster !== undefined': [
    'out of reach',
    'reads what stands in Redis: test/coordinator/store-macs.test.ts',
  ],
  "coordinator/store/layout.ts: !parts.every((part) => part !== undefined) || !macs.holds(['session', ...parts], fields.mac)":
    ['out of reach', 'reads what stands in Redis: test/coordinator/store-macs.test.ts'],
  'coordinator/store/layout.ts: text === null': [
    'out of reach',
    'reads what stands in Redis: test/coordinator/store-macs.test.ts',
  ],
  "coordinator/store/layout.ts: !macs.holds(['key', json], text.slice(0, macChars))": [
    'out of reach',
    'reads what stands in Redis: test/coordinator/store-macs.test.ts',
  ],
  'coordinator/key-closing.ts: state.rounds >= roundsMax': ['out of reach', 'a session that does not answer for 5 s'],
  'nodes/dkg/dealing.ts: error instanceof CryptoError': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'nodes/dkg/verifying.ts: error instanceof CryptoError': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'nodes/signer/signer-actor.ts: !(error instanceof CryptoError)': [
    'equivalent',
    'the exception of another kind is a bug: nothing throws one',
  ],
  'nodes/dkg/dealing.ts: box === undefined': [
    'behind another',
    'the coordinator checks sealing keys when openings come, and so does isSignedOpening’s dealer',
  ],
  "nodes/dkg/dkg-actor.ts: message.kind !== 'hsmAnswered'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'nodes/dkg/dkg-actor.ts: !allowed?.includes(next.phase)': [
    'behind another',
    'an assertion: no request leads elsewhere',
  ],
  'nodes/dkg/dkg-actor.ts: name !== undefined': ['equivalent', 'fields of an event'],
  'nodes/dkg/party.ts: key === undefined': ['equivalent', 'an assertion: ids were checked'],
  'nodes/dkg/record.ts: json.opening === undefined': ['out of reach', 'a record of an earlier version'],
  "nodes/dkg/verifying.ts: state.phase !== 'dealing'": ['equivalent', 'an assertion'],
  "nodes/records/key-record.ts: typeof json !== 'object' || json === null || (json as { v?: unknown }).v !== 1": [
    'out of reach',
    'the store authenticates records: test/nodes/key-store.test.ts',
  ],
  'nodes/signer/intent-memory.ts: entries === undefined': ['equivalent', 'an assertion'],
  'nodes/signer/intent-memory.ts: intents === undefined': [
    'out of reach',
    'the store authenticates records: test/nodes/intent-memory.test.ts',
  ],
  'nodes/signer/intent-memory.ts: fromHex(digest).length !== 32': [
    'out of reach',
    'the store authenticates records: test/nodes/intent-memory.test.ts',
  ],
  'nodes/signer/nonce-secrets.ts: !oldest.done': ['equivalent', 'an assertion: a full pool has an oldest nonce'],
  'nodes/signer/partials.ts: id < 1 || id > nodesMax': [
    'behind another',
    'keyFault refuses signers that hold no share, and signersFault ids that do not ascend from 1',
  ],
  "nodes/signer/signer-actor.ts: outcome.kind !== 'failed' || outcome.fault.endsWith('_UNCONFIGURED')": [
    'equivalent',
    'an event for logs alone',
  ],
  "nodes/vendor/messages.ts: end === ''": [
    'equivalent',
    'an assertion: a settled order without a signature has an end',
  ],
  "nodes/vendor/order-actor.ts: end === 'VENDOR_SIGNATURE_INVALID'": ['equivalent', 'a text for people'],
  'nodes/vendor/order-actor.ts: waiting.length === 0 || record === undefined || isSettled(record)': [
    'equivalent',
    'no request waits: the timer starts again, or nothing is said',
  ],
  'nodes/signer/signer-actor.ts: state.pending.isEmpty': ['equivalent', 'writes nothing'],
  'nodes/signer/signing-keys.ts: keyPackage === undefined': [
    'equivalent',
    'an assertion: the caller has the key at hand',
  ],
  'nodes/signer/signing-keys.ts: parent === undefined': ['equivalent', 'an assertion: the caller has the key at hand'],
  'nodes/signer/signing-keys.ts: known !== undefined': ['equivalent', 'the child is derived again'],
  'nodes/signer/waiting-requests.ts: waiting === undefined': [
    'equivalent',
    'nothing waits: nothing is counted down twice',
  ],
  "nodes/vendor/routing.ts: to !== vendorAddress || !('kind' in message)": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "nodes/vendor/routing.ts: message.kind !== 'vendorAsked'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  'coordinator/cluster/nonce-commitments.ts: pool.nonces.length < pool.batch / 8': [
    'equivalent',
    'batches that do not grow cost more requests',
  ],
  'coordinator/dkg/node-answers.ts: message.attempt !== record.ceremony.attempt || !isOpen(record.state) || expireDkg(turn)':
    ['behind another', 'takeAsked knows the requests of this attempt alone, and evidence is verified for this attempt'],
  'coordinator/dkg/round.ts: !turn.persisted': ['behind another', 'advanceDkg begins with the same test'],
  'coordinator/dkg/round.ts: work.flights.has(`${dealer}/dkgSeal`)': [
    'behind another',
    'ask (requests.ts) sends no second request of a kind to a node',
  ],
  'coordinator/dkg/round.ts: verified.length === record.ceremony.verified.length': [
    'equivalent',
    'the record is written again with the same pairs',
  ],
  "coordinator/key-closing.ts: state.calls.length === 0 && said.kind !== 'closeCall'": [
    'equivalent',
    'without a call an actor ignores the message, and stays in memory',
  ],
  "coordinator/reading.ts: input.kind !== 'message' || !isLocal(input.message) || input.message.kind !== 'readCall'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "coordinator/reading.ts: input.kind !== 'loaded'": [
    'equivalent',
    'narrows a type: the actors send no such input here',
  ],
  "nodes/dkg/dkg-actor.ts: next.phase === 'final'": ['equivalent', 'the actor leaves memory when it is idle'],
  "nodes/signer/signing-keys.ts: derivationPath === ''": ['equivalent', 'a path without steps derives the key itself'],
  'nodes/records/records.ts: !recordKey.startsWith(vendorPrefix) || !tenant || !reference': [
    'equivalent',
    'wakes an actor of an order that does not exist, which stops',
  ],
  'nodes/signer/signing-keys.ts: path.length === 0': ['equivalent', 'a path without steps derives the key itself'],
  'nodes/vendor/order-actor.ts: name === undefined': ['equivalent', 'an assertion: its address names its order'],
  "coordinator/cluster/cluster.ts: message.role === 'gateway'": [
    'equivalent',
    'of a gateway that leaves: a status goes to an address without a link (the search finds the other one, of a gateway that comes)',
  ],
  'coordinator/cluster/cluster.ts: nowMs >= state.turnBeganMs && nowMs < state.turnBeganMs + turnMs': [
    'equivalent',
    'each draw begins with another node: only the load spreads in another way',
  ],
  'coordinator/cluster/cluster.ts: state.ready.get(message.nodeId)?.boot !== message.nodeBoot': [
    'equivalent',
    'nonces of the present start are dropped, and dealt again',
  ],
  'coordinator/cluster/nonce-commitments.ts: pool.awaited > 0 || pool.nonces.length > pool.batch / 2': [
    'equivalent',
    'more nonces are asked for ahead of need; a node answers, and its pool has a limit',
  ],
  'coordinator/dkg/calls.ts: commitments.length !== threshold': [
    'behind another',
    'validateCommitments, which follows, checks the number too, with the same reason code',
  ],
  'coordinator/dkg/replacing.ts: ceremony.totalNodes >= config.roster.nodes.length': [
    'equivalent',
    'a key of all nodes has no others to take',
  ],
  'coordinator/signing/advance.ts: turn.persisted || !isOpen(record.state)': [
    'behind another',
    'a session that is not open has no call in its round, and commit refuses a second write of a step',
  ],
  'coordinator/signing/advance.ts: !isBusy(work)': [
    'equivalent',
    'the session watches the nodes and draws nonces ahead of a call; nodes are asked for nothing',
  ],
  'coordinator/signing/advance.ts: watch.ready === undefined': [
    'equivalent',
    'suspects are passed over at each change of the nodes, not only at the first: other nodes are asked',
  ],
  'coordinator/signing/state.ts: work.nodes.watch': ['equivalent', 'withdraws interest that is not registered'],
  "coordinator/store/layout.ts: ceremony.kind !== 'signing' || !isWalletKey(ceremony.facts.keyId) || isTerminal(state)":
    ['equivalent', 'sessions of keys that no wallet has are listed too, and no one closes such a key'],
  "coordinator/store/layout.ts: ceremony.kind !== 'signing' || !isWalletKey(ceremony.facts.keyId)": [
    'equivalent',
    'sessions of keys that no wallet has are listed too, and no one closes such a key',
  ],
  'coordinator/keystores/shared-key.ts: !derived': ['equivalent', 'an assertion: the task of a shared key has one'],
  "coordinator/signing/advance.ts: !isBusy(work) || work.key.kind !== 'known'": [
    'behind another',
    'a session that leaves its round cancels the timer, and begins a round with its key alone',
  ],
  'coordinator/signing/calls.ts: expire(turn)': [
    'equivalent',
    'its test has ended the session: the call is told so in the same step',
  ],
  'coordinator/signing/calls.ts: !sharesNonce': [
    'behind another',
    'noncePointFault refuses every point where an attempt has none, with the same code',
  ],
  'coordinator/signing/calls.ts: ephemeralPublicKey.length !== 33 && ephemeralPublicKey.length !== 32': [
    'behind another',
    'noncePointFault refuses what is not the attempt’s point, with the same code',
  ],
  'coordinator/signing/partials.ts: bindsSigners(attempt) && !isSigner(attempt, nodeId)': [
    'behind another',
    'the partial of a node outside the attempt does not verify: the same code',
  ],
  'coordinator/signing/partials.ts: askedOf(work.round).size === 0 && cameSlowly(attempt, nowMs)': [
    'equivalent',
    'a suspicion only orders draws',
  ],
  'coordinator/signing/partials.ts: turn.persisted': [
    'equivalent',
    'nothing follows for a key at a token or a vendor: it binds no signers, and forgets no nonce',
  ],
  'coordinator/signing/session.ts: nodeId !== undefined': [
    'equivalent',
    'of an answer whose gateway is gone: an entry that no node has joins the silent ones',
  ],
  "coordinator/signing/session.ts: refusal.kind !== 'conflict'": [
    'equivalent',
    'no case below matches, and the last line does the same',
  ],
  "coordinator/signing/session.ts: said.kind === 'inspectCall'": [
    'out of reach',
    'the step that takes an inspection has no write',
  ],
  "coordinator/signing/session.ts: body.case !== 'partialReply' || nodeId === undefined || expire(turn)": [
    'behind another',
    'partialReply takes nothing without an attempt, and nothing of a node that is none',
  ],
  'coordinator/signing/session.ts: !isBusy(work)': ['equivalent', 'advanceRound leaves a round in which nothing waits'],
  "coordinator/signing/session.ts: 'fault' in path": [
    'equivalent',
    'an assertion: the path of a session was validated',
  ],
  "coordinator/signing/session.ts: key.kind === 'known'": ['equivalent', 'the key is read again'],
  "coordinator/signing/state.ts: key.kind !== 'known'": ['equivalent', 'an assertion: the key is loaded'],
  'coordinator/signing/state.ts: record.state !== ReceiptState.BACKEND_COMPLETED': [
    'equivalent',
    'the signature of a session that is not complete is empty',
  ],
};
