/** A node that withholds one kind of DKG frame, or refuses one kind of request: it blocks no key for good, and not the next ones. */
import { describe, expect, test } from 'vitest';
import type { WireBody } from '../../proto/wire.ts';
import { type FrameFate, SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, blamed, codeOf, tenant, tokenOf } from './support/world.ts';

const kinds = ['dkgOpened', 'dkgSealed', 'dkgVerified', 'dkgConfirmed'] as const;
const staller = 3;

/** Five nodes; node 3 withholds this kind of frame, or refuses its request, while it stalls. */
function world(kind: (typeof kinds)[number], how: 'withholds' | 'refuses') {
  const state = { honest: false };
  const cluster = new SimCluster({
    seed: `stalling ${kind} ${how}`,
    onFrame: (frame): FrameFate => {
      const body = frame.message.body as WireBody;
      if (state.honest || !frame.from.startsWith(`node/${staller}/`) || body.case !== kind) return true;
      if (how === 'withholds') return false;
      const { request } = body.value;
      const value = { nodeId: staller, code: 'NOT_FINISHED', message: 'no', culprits: [], results: [], request };
      const refused = { case: 'dkgRefused', value } as unknown as WireBody;
      return [{ envelope: { ...frame, message: { ...frame.message, body: refused } }, afterMs: 1 }];
    },
  });
  /** The result of making a key, resumed up to three times, and the simulated time it took. */
  const make = (sessionId: string, totalNodes: number) => {
    const sinceMs = cluster.scenarioMs;
    const terms = { sessionId, threshold: 2, totalNodes, derivation: { curve: 'ed25519' } };
    cluster.initiateDkg(terms).result();
    let made = cluster.exchangeDkgShares({ sessionId }).result();
    let resumes = 0;
    for (; codeOf(made) !== 'DKG_COMPLETED' && resumes < 3; resumes += 1) {
      expect(made.receipt!.message).toContain(`node ${staller}`);
      cluster.resumeSession({ sessionId, resumeToken: tokenOf(made) }).result();
      made = cluster.exchangeDkgShares({ sessionId }).result();
    }
    return { made, resumes, tookMs: cluster.scenarioMs - sinceMs };
  };
  const signs = (key: string) => {
    const { signingSessionId } = begin(cluster, `pays-${key}`, { walletId: key });
    return codeOf(cluster.submitSignatureShare({ signingSessionId }).result());
  };
  const suspected = () =>
    cluster.events.flatMap(({ event: { type, fields } }) =>
      type === 'node.suspected' ? [`${fields.node} ${fields.reason}`] : [],
    );
  return { cluster, state, make, signs, suspected };
}

describe.each(kinds)('a node that stalls with %s', (kind) => {
  test.each(['withholds', 'refuses'] as const)(
    '%s: the key is made with the others, and so are the next ones',
    (how) => {
      const { cluster, make, signs, suspected } = world(kind, how);
      const first = make('first', 3);
      expect(codeOf(first.made)).toBe('DKG_COMPLETED');
      expect(signs('first')).toBe('SIGNATURE_COMPLETED');
      if (how === 'withholds' || kind === 'dkgConfirmed') expect(suspected()).toEqual(['3 silent']);
      expect(first.resumes).toBeLessThanOrEqual(1);
      for (const key of ['second', 'third']) {
        const next = make(key, 3);
        expect(codeOf(next.made)).toBe('DKG_COMPLETED');
        expect(signs(key)).toBe('SIGNATURE_COMPLETED');
        if (how === 'refuses' && kind !== 'dkgConfirmed') continue;
        // Known to stall, it is left out from the beginning.
        expect(next.tookMs).toBeLessThan(2_000);
        expect((cluster.storedSession(tenant, key)!.ceremony as { participants?: number[] }).participants).toEqual([
          1, 2, 4,
        ]);
      }
      expect(blamed(cluster)).toEqual([]);
    },
  );
});

test.each(['withholds', 'refuses'] as const)(
  'a key of all nodes completes without the confirmation of one that %s it',
  (how) => {
    const { cluster, make, signs, suspected } = world('dkgConfirmed', how);
    const { made, resumes } = make('k', 5);
    // A refusal is first shown to the client; after the resume it counts as silence.
    expect(resumes).toBe(how === 'refuses' ? 1 : 0);
    expect(made.receipt!.message).toMatch(/^group public key [0-9a-f]{64}; node 3 did not confirm it yet$/);
    expect([signs('k'), suspected(), blamed(cluster)]).toEqual(['SIGNATURE_COMPLETED', ['3 silent'], []]);
  },
);

describe('a node that died before it confirmed', () => {
  /** Of five nodes node 3 dies before it confirms, and is back. */
  function world(threshold: number): SimCluster {
    let died = false;
    const cluster: SimCluster = new SimCluster({
      seed: 'died before it confirmed',
      onFrame: (frame) => {
        if (died || frame.to !== `node/3/dkg/${tenant}/k` || frame.message.body.case !== 'dkgConfirm') return true;
        died = true;
        cluster.crash('node/3');
        return false;
      },
    });
    cluster.initiateDkg({ sessionId: 'k', threshold, totalNodes: 5, derivation: { curve: 'ed25519' } }).result();
    expect(codeOf(cluster.exchangeDkgShares({ sessionId: 'k' }).result())).toBe('DKG_COMPLETED');
    expect(cluster.nodeStore(3).loadNow(`key/${tenant}/k`)).toBeUndefined();
    cluster.start('node/3');
    return cluster;
  }

  test('gets its key when a signature first needs it', () => {
    const cluster = world(3);
    for (const id of [1, 2]) cluster.crash(`node/${id}`);
    const { signingSessionId } = begin(cluster, 'first');
    const signed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect(cluster.nodeStore(3).loadNow(`key/${tenant}/k`)).toBeDefined();
    const again = begin(cluster, 'second');
    const codes = [signed, cluster.submitSignatureShare({ signingSessionId: again.signingSessionId }).result()].map(
      codeOf,
    );
    expect(codes.at(-1)).toBe('SIGNATURE_COMPLETED');
  });

  test('says so to a step that names it, and takes the repeated one', () => {
    const cluster = world(3);
    const { signingSessionId } = begin(cluster, 'named');
    const step = () => cluster.submitSignatureShare({ signingSessionId, nodeId: 3 }).result();
    const first = step();
    expect([codeOf(first), first.receipt!.message]).toEqual([
      'NODES_UNAVAILABLE',
      'node 3 cannot sign with this key, which it does not hold: if it died while the key was made, call again; the session is unchanged',
    ]);
    expect(codeOf(step())).toBe('SHARE_ACCEPTED');
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
  });
});

test('a resume needs no result again from a node that has signed it: the session stores all of them', () => {
  const silent = new Set([3, 4, 5]);
  const cluster: SimCluster = new SimCluster({
    seed: 'results are stored',
    onFrame: (frame) => {
      const id = Number(frame.from.split('/')[1]);
      const isFinal = (cluster.storedSession(tenant, 'k')?.ceremony as { mayBeFinal?: boolean })?.mayBeFinal;
      return !(isFinal && frame.from.startsWith('node/') && silent.has(id));
    },
  });
  cluster.initiateDkg({ sessionId: 'k', threshold: 3, totalNodes: 5, derivation: { curve: 'ed25519' } }).result();
  // Nodes 3 to 5 fall silent when all have signed the result: too few confirm.
  const failed = cluster.exchangeDkgShares({ sessionId: 'k' }).result();
  expect(codeOf(failed)).toBe('NODES_UNAVAILABLE');
  cluster.crash('coordinator');
  cluster.start('coordinator');
  for (const id of [4, 5]) silent.delete(id);
  cluster.resumeSession({ sessionId: 'k', resumeToken: tokenOf(failed) }).result();
  const made = cluster.exchangeDkgShares({ sessionId: 'k' }).result();
  expect(made.receipt!.message).toContain('node 3 did not confirm it yet');
});

test('nodes that answer one after the other, as those of a busy process, are asked once', () => {
  const asked: string[] = [];
  const answers = new Map<string, number>();
  const cluster = new SimCluster({
    seed: 'one after the other',
    config: { partialTimeoutMs: 300 },
    onFrame: (frame): FrameFate => {
      const { case: kind } = frame.message.body;
      if (kind === 'dkgOpen' || kind === 'dkgSeal' || kind === 'dkgVerify' || kind === 'dkgConfirm')
        asked.push(frame.to + kind);
      if (!kinds.some((each) => each === kind)) return true;
      const before = answers.get(kind!) ?? 0;
      answers.set(kind!, before + 1);
      return [{ envelope: frame, afterMs: 1 + before * 200 }];
    },
  });
  cluster.initiateDkg({ sessionId: 'k', threshold: 3, totalNodes: 5, derivation: { curve: 'secp256k1' } }).result();
  expect(codeOf(cluster.exchangeDkgShares({ sessionId: 'k' }).result())).toBe('DKG_COMPLETED');
  expect(asked.length).toBe(4 * 5);
  expect(new Set(asked).size).toBe(asked.length);
});
