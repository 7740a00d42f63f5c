/** What the console computes without a browser: calls as text, its address, the form of a fault, the picture, sentences. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SandboxFault, SandboxNode, SandboxSession, SandboxStreamSession } from '../../../clients/client/index.ts';
import { listed, nodesOf, stateOf } from '../../../clients/console/browser/ceremonies/ceremonies.ts';
import { curveOf, pictureOf, pointAt } from '../../../clients/console/browser/cluster/picture.ts';
import { actionsOn, makeKey, sign } from '../../../clients/console/browser/shared/actions.ts';
import { curlOf, literal, operationCall, programOf } from '../../../clients/console/browser/shared/call.ts';
import { firstPlace, fragmentOf, panels, placeOf } from '../../../clients/console/browser/shared/place.ts';
import { whyOf } from '../../../clients/console/browser/shared/why.ts';
import { bytesInWords, durationInWords, offsetInWords } from '../../../clients/console/browser/shared/words.ts';
import { quoted } from '../../../core/pages/shell-word.ts';
import { codePoint } from '../../support/code-point.ts';

const text = fc.string({ unit: codePoint, maxLength: 40 });

/** What a POSIX shell makes of words in single quotes and of `\'`. */
function unquoted(word: string): string {
  expect(word).toMatch(/^('[^']*'|\\')+$/s);
  return word.replace(
    /'([^']*)'|\\(')/gs,
    (_, plain: string | undefined, escaped: string | undefined) => plain ?? escaped ?? '',
  );
}

describe('a call as text', () => {
  test('is one word for a shell, whatever is in it', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(unquoted(quoted(given))).toBe(given);
      }),
    );
    expect(unquoted(quoted("'; rm -rf ~ #$(id)`id`\n"))).toBe("'; rm -rf ~ #$(id)`id`\n");
  });

  test('is a value for JavaScript, and no character looks like another', () => {
    const value = fc.jsonValue().map((any) => JSON.parse(JSON.stringify(any)) as unknown);
    fc.assert(
      fc.property(fc.oneof(value, text), (given) => {
        const shown = literal(given);
        expect(shown).toMatch(/^[ -~]*$/);
        expect(new Function(`return (${shown})`)()).toEqual(given);
      }),
    );
  });

  test('names the token by its variable, and sends what the page sends', () => {
    const fault = { fault: 'drop', target: "node/2'; \u202e" };
    const call = operationCall('Arm drop', ['sandbox', 'createFault'], [], fault);
    const curl = curlOf(call.requests[0]!, 'http://127.0.0.1:8080');
    expect(curl).toBe(
      [
        "curl -sS -X POST 'http://127.0.0.1:8080/v1/sandbox/faults' \\",
        '  -H "Authorization: Bearer $SIGNMESH_TOKEN" \\',
        "  -H 'Content-Type: application/json' \\",
        `  -d '{"fault":"drop","target":"node/2'\\''; \\u202e"}'`,
      ].join('\n'),
    );
    expect(programOf(call, 'http://h')).toContain(
      "await client.sandbox.createFault({ fault: 'drop', target: 'node/2\\'; \\u202e' });",
    );
    expect(curlOf(operationCall('', ['sandbox', 'session'], ['a/b?c']).requests[0]!, '')).toContain(
      "'/v1/sandbox/sessions/a%2Fb%3Fc'",
    );
    expect(() => operationCall('', ['sandbox', 'nothing'])).toThrow('no operation sandbox.nothing');
  });

  test('exists for every action on a process, a key and a signature', () => {
    const states = ['running', 'paused', 'down', 'starting'] as const;
    const names = ['node/2', 'coordinator', 'gateway', 'worker', 'redis', 'cluster/2/node/1'];
    for (const state of states)
      for (const process of names) {
        const actions = actionsOn(node(process, { state }));
        expect(actions.length).toBeGreaterThan(0);
        for (const { call } of actions)
          expect(call.requests[0]!.path).toMatch(/^\/v1\/sandbox\/(nodes\/[\w-]+\/\w+|faults)$/);
      }
    const namesOf = (...given: Parameters<typeof node>) => actionsOn(node(...given)).map(({ name }) => name);
    expect(namesOf('node/2')).toEqual(['Crash', 'Stop', 'Pause', 'Restart', 'Partition for 10 s']);
    expect(namesOf('node/2', { state: 'down' })).toEqual(['Start']);
    expect(namesOf('node/2', { state: 'paused' })).toContain('Resume');
    expect(namesOf('gateway')).not.toContain('Pause');
    expect(makeKey('k', 4).call.requests.map(({ path }) => path)).toEqual(['/v1/dkg/initiate', '/v1/dkg/shares']);
    expect(makeKey('k', 2).call.requests[0]!.body).toMatchObject({ threshold: 2, total_nodes: 2 });
    expect(sign('k', 'i', 'AA==').call.requests.map(({ path }) => path)).toEqual([
      '/v1/signing/initiate',
      '/v1/signing/share',
    ]);
  });
});

describe('the address', () => {
  test('gives back where the reader was', () => {
    const place = fc.record({ panel: fc.constantFrom(...panels), chosen: text, words: text });
    fc.assert(
      fc.property(place, (given) => {
        expect(placeOf(fragmentOf(given))).toEqual(given);
      }),
    );
  });

  test('is the cluster when it says nothing that is known', () => {
    for (const fragment of ['', '#', '#/', '#/nothing', '#/nothing/x?q=1'])
      expect(placeOf(fragment)).toEqual(firstPlace);
    expect(placeOf('#/ceremonies/sig_1?q=node%202')).toEqual({ panel: 'ceremonies', chosen: 'sig_1', words: 'node 2' });
    expect(placeOf('#/ceremonies/%zz').chosen).toBe('%zz');
  });
});

function node(process: string, more: Partial<SandboxNode> = {}): SandboxNode {
  const [, cluster = '1'] = /^cluster\/(\d+)\//.exec(process) ?? [];
  return {
    id: process.replace(/^node\//, '').replaceAll('/', '-'),
    process,
    cluster: /^(gateway|worker|redis)$/.test(process) ? null : Number(cluster),
    state: 'running',
    ...{ pid: 7, restarts: 0, started_at: null, uptime_ms: 5, linked: null },
    ...{ clock_offset_ms: 0, resident_bytes: null, together: [process] },
    ...more,
  };
}

describe('the picture', () => {
  const cluster = (number: number, size: number) => {
    const prefix = number === 1 ? '' : `cluster/${number}/`;
    return [`${prefix}coordinator`, ...Array.from({ length: size }, (_, index) => `${prefix}node/${index + 1}`)];
  };

  test.each([
    ...[1, 2, 3, 5, 8, 9, 17, 40, 100].map((size) => [[size]] as const),
    [[5, 5]] as const,
    [[3, 20, 7]] as const,
  ])('has a place of its own for every process of clusters of %j nodes, and a link to each node', (sizes) => {
    const names = ['gateway', 'worker', 'redis', ...sizes.flatMap((size, index) => cluster(index + 1, size))];
    const { boxes, links, width, height } = pictureOf(names.map((name) => node(name)));
    expect([...boxes.keys()].sort()).toEqual([...names].sort());
    const all = [...boxes.values()];
    for (const [index, a] of all.entries()) {
      expect([a.x - a.width / 2 >= 0, a.x + a.width / 2 <= width]).toEqual([true, true]);
      expect([a.y - a.height / 2 >= 0, a.y + a.height / 2 <= height]).toEqual([true, true]);
      for (const b of all.slice(index + 1)) {
        const apart =
          Math.abs(a.x - b.x) >= (a.width + b.width) / 2 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2;
        expect([a.process, b.process, apart]).toEqual([a.process, b.process, true]);
      }
    }
    const nodes = names.filter((name) => /(^|\/)node\//.test(name));
    expect(
      links
        .filter(({ to }) => nodes.includes(to))
        .map(({ to }) => to)
        .sort(),
    ).toEqual(nodes.sort());
    for (const { from, to } of links) {
      const curve = curveOf(boxes.get(from)!, boxes.get(to)!);
      expect([pointAt(curve, 0), pointAt(curve, 1)]).toEqual([curve[0], curve[3]]);
    }
  });

  test('is of what there is', () => {
    expect(pictureOf([]).boxes.size).toBe(0);
    expect([...pictureOf([node('gateway'), node('coordinator')]).boxes.keys()].sort()).toEqual([
      'coordinator',
      'gateway',
    ]);
  });
});

const seen = (more: Partial<SandboxStreamSession> = {}): SandboxStreamSession => ({
  ...{ tenant: 'tn_1', session: 'sig_1', kind: 'signing', cluster: 1, state: 'open', reason_code: null },
  ...{ attempt: 1, nodes: [1, 2, 3], culprits: [], faults: [], frames: 4, began_ms: 5, last_ms: 9, retained: 'all' },
  ...more,
});
const armed = (id: string, fault: object, state = 'armed') => ({ id, fault, state }) as SandboxFault;
const reasons = {
  QUORUM_UNAVAILABLE: { text: 'Fewer nodes than the threshold can sign.', helps: 'resume' },
  ORDER_REFUSED: { text: 'Nodes refused.', helps: 'newSession' },
} as const;

describe('why', () => {
  test('nothing is said of what is well', () => {
    expect(whyOf(seen(), undefined, [], {})).toBe('');
    expect(whyOf(seen({ state: 'completed' }), undefined, [], {})).toBe('');
  });

  test('says what failed, who is blamed, which fault touched it, and what to do', () => {
    const failed = seen({
      state: 'failed',
      reason_code: 'QUORUM_UNAVAILABLE',
      culprits: [2, 4],
      faults: ['flt_1', 'gone'],
    });
    const fault = armed('flt_1', { fault: 'bad_partial', target: ['node/2', 'node/4'] });
    expect(whyOf(failed, undefined, [fault], reasons)).toBe(
      'The signature has not been made: fewer nodes than the threshold can sign; nodes 2, 4 are blamed; the fault bad_partial of node/2, node/4 (flt_1) and the fault gone touched its frames; remove flt_1, then resume the session.',
    );
    const over = armed('flt_1', { fault: 'drop', target: 'node/2' }, 'over');
    expect(
      whyOf(seen({ state: 'failed', reason_code: 'ORDER_REFUSED', faults: ['flt_1'] }), undefined, [over], reasons),
    ).toBe(
      'The signature has not been made: nodes refused; the fault drop of node/2 (flt_1) touched its frames; begin a new session.',
    );
  });

  test('names the node that lied though the signature is complete', () => {
    const fault = armed('f', { fault: 'bad_partial', target: 'node/2' });
    expect(whyOf(seen({ state: 'completed', culprits: [2], faults: ['f'] }), undefined, [fault], reasons)).toBe(
      'The signature has been made; node 2 is blamed; the fault bad_partial of node/2 (f) touched its frames.',
    );
  });

  test('prefers what the session itself says', () => {
    const read = {
      state: 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL',
      message: 'A human must approve.',
      reason_code: 'X',
      culprits: [],
    };
    expect(whyOf(seen(), read as unknown as SandboxSession, [], reasons)).toBe(
      'The signature waits: a human must approve; resume the session.',
    );
  });
});

describe('the list of ceremonies', () => {
  const sessions = new Map(
    [
      seen({ session: 'a', state: 'completed', began_ms: 1 }),
      seen({ session: 'b', state: 'failed', culprits: [2], began_ms: 2, reason_code: 'LATE' }),
      seen({ session: 'c', tenant: 'tn_2', faults: ['flt_9'], began_ms: 3, kind: 'dkg' }),
    ].map((one) => [one.session, one] as const),
  );
  const found = (...given: [string, Parameters<typeof listed>[2]]) =>
    listed({ sessions }, ...given).map(({ session }) => session);

  test('has the newest first, and what the search and the filter leave', () => {
    expect(found('', 'all')).toEqual(['c', 'b', 'a']);
    expect(found('', 'failed')).toEqual(['b']);
    expect(found('', 'faulty')).toEqual(['c', 'b']);
    expect(found('FLT_9', 'all')).toEqual(['c']);
    expect(found('node 2', 'all')).toEqual(['b']);
    expect(found('tn_1 late', 'all')).toEqual(['b']);
    expect(found('nothing', 'all')).toEqual([]);
  });

  test('says which part each node had', () => {
    const read = { kind: 'signing', signers: [1, 3], culprits: [2], participants: [] } as unknown as SandboxSession;
    expect(nodesOf(seen({ nodes: [1, 2, 3, 4] }), read).map(({ node: id, role }) => `${id} ${role}`)).toEqual([
      '1 signed',
      '2 blamed',
      '3 signed',
      '4 took part',
    ]);
    expect(stateOf(seen(), { state: 'RECEIPT_STATE_EXPIRED' } as SandboxSession)).toEqual(['expired', 'failed']);
    expect(stateOf(seen({ state: 'completed' }), null)).toEqual(['completed', 'completed']);
  });
});

test('quantities are said in words', () => {
  expect([0, 999, 1_500, 61_000, 3_700_000, 90_000_000].map(durationInWords)).toEqual([
    ...['0 ms', '999 ms', '1.5 s', '1 min', '1 h 1 min', '1 d'],
  ]);
  expect([null, 1_500, 83_400_000, 2_340_000_000].map(bytesInWords)).toEqual(['–', '2 KB', '83 MB', '2.3 GB']);
  expect([0, 5_000, -120_000].map(offsetInWords)).toEqual(['', '+5.0 s', '−2 min']);
});
