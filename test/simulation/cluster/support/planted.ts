/**
 * Known flaws, planted into the compiled program: each replaces pieces of text in compiled files, and names the invariants
 * of which one must be found violated, within so many seeds. docs/simulation.md has the same table.
 */
import type { PlantedFlaw } from './program-copy.ts';

export const plantedFlaws: readonly PlantedFlaw[] = [
  {
    name: 'nonce-kept',
    flaw: 'a node keeps its nonce after signing with it',
    edits: [{ file: 'nodes/signer/nonce-secrets.js', from: 'pool?.delete(number);', to: '' }],
    invariants: ['node-as-modelled', 'nonce-signs-once'],
    profile: 'calm',
    seeds: 80,
    foundBy: 67,
  },
  {
    name: 'share-unverified',
    flaw: 'a node takes a dealer’s share without verifying it, and makes its key of it',
    edits: [
      {
        file: 'core/crypto/dkg-transcripts.js',
        from: 'verifyShare(terms.curve, opened.share, sealed.recipient, commitments)',
        to: 'true',
      },
      {
        file: 'core/crypto/key-package.js',
        from: '|| !equalBytes(group.baseMultiply(signingShare), shared.verificationShares[place])',
        to: '',
      },
    ],
    invariants: ['group-key-agreed', 'node-as-modelled'],
    profile: 'hostile',
    seeds: 40,
    foundBy: 14,
  },
  {
    name: 'culprit-wrong',
    flaw: 'a wrong partial is blamed on the node with the next id',
    edits: [
      {
        file: 'coordinator/signing/partials.js',
        from: '.map(([id]) => id);\n    if (culprits.length === 0)',
        to: '.map(([id]) => (id % knownKey(turn.state.work).totalNodes) + 1);\n    if (culprits.length === 0)',
      },
    ],
    invariants: ['honest-never-blamed', 'record-as-modelled'],
    profile: 'hostile',
    seeds: 250,
  },
  {
    name: 'persist-after-send',
    flaw: 'answers leave before the write that they depend on',
    edits: [
      {
        file: 'core/actors/kernel/kernel.js',
        from: "cell.phase = 'persisting';",
        to: `cell.phase = 'persisting';
        const isWord = ({ kind }) => kind === 'send' || kind === 'reply';
        for (const effect of step.effects.filter(isWord)) this.#perform(cell, effect);
        step = { ...step, effects: step.effects.filter((effect) => !isWord(effect)) };`,
      },
    ],
    invariants: ['promised-is-durable'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'stale-attempt',
    flaw: 'a partial of an earlier attempt is taken for one of this attempt',
    edits: [{ file: 'coordinator/signing/partials.js', from: 'attemptTag !== attempt.tag || ', to: '' }],
    invariants: ['honest-never-blamed', 'node-as-modelled'],
    profile: 'calm',
    seeds: 200,
  },
  {
    name: 'off-the-table',
    flaw: 'a resumed session is ACCEPTED again',
    edits: [
      {
        file: 'coordinator/signing/calls.js',
        from: '{ ...resumed, state: ReceiptState.RESUMED }',
        to: '{ ...resumed, state: ReceiptState.ACCEPTED }',
      },
      {
        file: 'coordinator/contract/record.js',
        from: 'if (!mayFollow(record.state, outcome.state)) {',
        to: 'if (outcome.state === undefined) {',
      },
    ],
    invariants: ['transitions-on-table'],
    profile: 'calm',
    seeds: 20,
    foundBy: 11,
  },
  {
    name: 'echo-skipped',
    flaw: 'the nodes’ reports of a key are not compared',
    edits: [
      {
        file: 'coordinator/dkg/round.js',
        from: 'if (!results.every((result) => sameResult(result, results[0]))) {',
        to: 'if (results.length === 0) {',
      },
      { file: 'nodes/dkg/confirming.js', from: 'if (different.length > 0) {', to: 'if (different.length < 0) {' },
    ],
    invariants: ['group-key-agreed', 'transcript-as-modelled'],
    profile: 'hostile',
    seeds: 100,
    foundBy: 84,
  },
  {
    name: 'token-not-consumed',
    flaw: 'a resume does not keep that its token was used',
    edits: [
      {
        file: 'coordinator/signing/calls.js',
        from: 'usedResumeEpochs: [...record.usedResumeEpochs, record.epoch],',
        to: 'usedResumeEpochs: record.usedResumeEpochs,',
      },
    ],
    invariants: ['token-used-once'],
    profile: 'calm',
    seeds: 20,
    foundBy: 11,
  },
  {
    name: 'late-partial-counted-twice',
    flaw: 'a node’s partial that comes again counts again',
    edits: [
      {
        file: 'coordinator/signing/partials.js',
        from: 'attemptTag !== attempt.tag || attempt.partials.has(nodeId))\n        return false;',
        to: 'attemptTag !== attempt.tag)\n        return false;\n    attempt.counted = (attempt.counted ?? 0) + 1;',
      },
      {
        file: 'coordinator/signing/partials.js',
        from: 'if (attempt.partials.size >= threshold)\n',
        to: 'if (Math.max(attempt.partials.size, attempt.counted ?? 0) >= threshold)\n',
      },
    ],
    invariants: ['no-bugs', 'quorum-signed'],
    profile: 'calm',
    seeds: 40,
  },
  {
    name: 'epoch-not-raised',
    flaw: 'a step within a state does not raise the epoch, and the store lets it pass',
    edits: [
      {
        file: 'coordinator/contract/record.js',
        from: 'return next(record, moment, changes, {});',
        to: 'return { ...next(record, moment, changes, {}), epoch: record.epoch };',
      },
      {
        file: 'simulation/cluster/memory-stores.js',
        from: 'if ((standing?.epoch ?? -1) !== next.epoch - 1)',
        to: 'if (standing === undefined)',
      },
    ],
    invariants: ['transitions-on-table'],
    profile: 'calm',
    seeds: 10,
  },
  {
    name: 'order-unchecked',
    flaw: 'a node signs without looking at the gateway’s order',
    edits: [{ file: 'nodes/signer/signer-actor.js', from: 'if (unordered !== undefined)', to: 'if (false)' }],
    invariants: ['ordered-by-gateway'],
    profile: 'hostile',
    seeds: 80,
  },
  {
    name: 'nonces-not-distinct',
    flaw: 'the coordinator takes one nonce under several numbers',
    edits: [{ file: 'coordinator/cluster/cluster.js', from: ' || !areDistinct(nonces)', to: '' }],
    invariants: ['nonce-signs-once', 'request-as-recorded'],
    profile: 'hostile',
    seeds: 300,
  },
  {
    name: 'vendor-ordered-again',
    flaw: 'a node makes a new order at the vendor whenever it is asked',
    edits: [
      {
        file: 'nodes/vendor/order-actor.js',
        from: "if (record === undefined || record.phase === 'ended') {",
        to: 'if (true) {',
      },
    ],
    invariants: ['one-order-an-intent'],
    profile: 'calm',
    seeds: 400,
    isSlow: true,
  },
  {
    name: 'fence-ignored',
    flaw: 'the store takes writes of a coordinator that another one has replaced',
    edits: [
      {
        file: 'simulation/cluster/memory-stores.js',
        from: 'if ((fences.get(fenced) ?? 0) > fence)',
        to: 'if (fence < 0)',
      },
    ],
    invariants: ['node-as-modelled', 'one-coordinator-writes', 'record-as-modelled'],
    profile: 'hostile',
    seeds: 260,
    isSlow: true,
  },
  {
    name: 'refused-call-lost',
    flaw: 'a call whose write the store refuses gets no answer',
    edits: [{ file: 'coordinator/dkg/session.js', from: 'work.inbox.push(handled.message.call);', to: '' }],
    invariants: ['answered-in-time'],
    profile: 'hostile',
    seeds: 60,
    isSlow: true,
  },
  {
    name: 'late-link-down',
    flaw: 'late news of a dead node’s link ends the link of its next start',
    edits: [
      {
        file: 'coordinator/cluster/cluster.js',
        from: 'if (state.ready.get(message.nodeId)?.boot !== message.boot)\n                return [];',
        to: '',
      },
    ],
    invariants: ['status-told'],
    profile: 'calm',
    seeds: 20,
  },
  {
    name: 'overload-silent',
    flaw: 'a call that finds the mailbox of its session full gets no answer',
    edits: [
      { file: 'coordinator/call-router.js', from: "if (!isLocal(message) || !('call' in message))", to: 'if (true)' },
    ],
    invariants: ['answered-in-time'],
    profile: 'calm',
    seeds: 160,
    isSlow: true,
  },
  {
    name: 'dealer-omitted',
    flaw: 'the transcript that nodes sign at the end of a key generation omits a dealer',
    edits: [
      {
        file: 'core/crypto/dkg-transcripts.js',
        from: 'const openings = [...input.openings].sort((a, b) => a.dealer - b.dealer);',
        to: 'const openings = [...input.openings].sort((a, b) => a.dealer - b.dealer).slice(1);',
      },
    ],
    invariants: ['transcript-as-modelled'],
    profile: 'calm',
    seeds: 2,
  },
  {
    name: 'result-unsigned',
    flaw: 'the coordinator takes a node’s result of a key generation without its signature',
    edits: [
      {
        file: 'coordinator/dkg/node-answers.js',
        from: 'if (said.finished && !isOwnResult(turn, recipient, said.finished)) {',
        to: 'if (false) {',
      },
    ],
    invariants: ['transcript-as-modelled'],
    profile: 'malformed',
    seeds: 40,
    foundBy: 9,
  },
  {
    name: 'confirmation-unsigned',
    flaw: 'a node makes its key final without checking the signatures of the others’ results',
    edits: [{ file: 'nodes/dkg/confirming.js', from: 'if (unsigned !== undefined)', to: 'if (false)' }],
    invariants: ['request-followed', 'transcript-as-modelled'],
    profile: 'malformed',
    seeds: 40,
  },
  {
    name: 'lifetime-off-by-one',
    flaw: 'a session still lives in the millisecond in which its lifetime ends',
    edits: [{ file: 'coordinator/session/turn.js', from: 'nowMs >= record.expiresMs', to: 'nowMs > record.expiresMs' }],
    invariants: ['lifetime-kept', 'quorum-signed'],
    profile: 'calm',
    seeds: 20,
  },
  {
    name: 'share-of-any-version',
    flaw: 'a node signs with the share that it has, whichever version of it is asked for',
    edits: [{ file: 'nodes/signer/signer-actor.js', from: 'version !== (request.keyVersion || 1)', to: 'false' }],
    invariants: ['node-as-modelled', 'honest-never-blamed'],
    profile: 'calm',
    seeds: 10,
    foundBy: 3,
  },
  {
    name: 'share-replaced-early',
    flaw: 'a node replaces its share by a new one when it has signed its result, before it is shown that all have',
    edits: [
      {
        file: 'nodes/dkg/dkg-actor.js',
        from: 'const { finalKey } = outcome;',
        to: `const { terms, keyPackage } = next;
            const isEarly = next.phase === 'provisional' && terms.refresh;
            const early = isEarly ? { keyPackage, scheme: terms.scheme, version: terms.refresh.version } : undefined;
            const finalKey = outcome.finalKey ?? early;`,
      },
    ],
    invariants: ['transcript-as-modelled', 'node-record-as-modelled'],
    profile: 'calm',
    seeds: 10,
    foundBy: 2,
  },
  {
    name: 'result-given-up',
    flaw: 'a node that has signed its result of new shares gives it up for a later attempt, while all may sign it',
    edits: [{ file: 'nodes/dkg/refreshing.js', from: "if (state.phase === 'provisional')", to: 'if (false)' }],
    invariants: ['node-record-as-modelled'],
    profile: 'hostile',
    seeds: 20,
    foundBy: 10,
  },
];
