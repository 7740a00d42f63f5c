/** What lists say of a subject: sanctions over everything, and one thing found in whatever spelling. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressProblem, canonicalAddress } from '../../../../wallets/networks/addresses.ts';
import { networkIds } from '../../../../wallets/networks/networks.ts';
import { indexList, type ListedEntry, type ListKind } from '../../../../wallets/policy/compliance/list.ts';
import { screenSubject } from '../../../../wallets/policy/compliance/match.ts';
import { nameKey } from '../../../../wallets/policy/compliance/name-key.ts';
import { builtInLists, testLists } from '../../../../wallets/policy/compliance/test-lists.ts';

const evm = 'eip155:11155111';
const address = '0x52908400098527886E0F7030069857D2E4169EE7';

function list(kind: ListKind, entries: readonly Partial<ListedEntry>[], version = 1) {
  const full = entries.map((entry) => ({ address: null, network: null, name: null, note: null, ...entry }));
  return indexList({
    id: 'x',
    version: 1,
    listId: `lst_${kind}`,
    listVersion: version,
    name: kind,
    kind,
    entries: full,
    createdAtMs: 0,
  });
}

const subject = { address, network: evm, name: null };
const gravestFirst: readonly ListKind[] = ['sanctions', 'deny', 'watch', 'allow'];

describe('screening', () => {
  it('blocks by sanctions and by deny lists whatever else matches, reviews what is watched, and clears the rest', () => {
    const kinds: ListKind[] = ['sanctions', 'deny', 'allow', 'watch'];
    fc.assert(
      fc.property(fc.subarray(kinds), fc.shuffledSubarray(kinds, { minLength: 4 }), (matching, order) => {
        const lists = order.map((kind) => list(kind, matching.includes(kind) ? [{ address }] : []));
        const outcome = screenSubject(subject, lists);
        const has = (kind: ListKind) => matching.includes(kind);
        const expected =
          has('sanctions') || has('deny') ? 'blocked' : has('watch') && !has('allow') ? 'review' : 'clear';
        expect(outcome.decision).toBe(expected);
        // The gravest first, whatever the order of the lists.
        expect(outcome.matches.map(({ kind }) => kind)).toEqual(gravestFirst.filter(has));
        expect(outcome.riskScore).toBe(has('sanctions') ? 100 : has('deny') ? 90 : expected === 'review' ? 60 : 0);
        expect(outcome.listVersions).toEqual({ sanctions: 1, deny: 1, allow: 1, watch: 1 });
      }),
    );
  });

  it('finds an address in whatever case, on its network or on any', () => {
    const at = (network: string, entry: Partial<ListedEntry>, given = address) =>
      screenSubject({ address: given, network, name: null }, [list('deny', [entry])]).decision;
    for (const given of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) {
      expect(at(evm, { address: address.toLowerCase() }, given)).toBe('blocked');
      expect(at(evm, { address, network: evm }, given)).toBe('blocked');
    }
    expect(at(networkIds[1]!, { address, network: evm })).toBe('clear');
    expect(at(networkIds[1]!, { address })).toBe('blocked');
    expect(
      screenSubject({ address, network: null, name: null }, [list('deny', [{ address, network: evm }])]).decision,
    ).toBe('blocked');
  });

  it('finds a name without case, accents, punctuation and spaces, and no other name', () => {
    const lists = [list('sanctions', [{ name: 'José  AL-Qādi' }])];
    const screen = (name: string) => screenSubject({ address: null, network: null, name }, lists);
    for (const name of ['jose al qadi', 'JOSÉ AL QADI', ' Jose, al-Qadi. ', 'Jose\u0301 al‐Qadi']) {
      expect(screen(name), name).toMatchObject({ decision: 'blocked', matches: [{ entry: 'José  AL-Qādi' }] });
    }
    for (const name of ['Al-Qadi, José', 'Jo\u00adse al\u200b Q\u200badi', 'Jоsе al-Qаdi']) {
      expect(screen(name).decision, name).toBe('blocked');
    }
    for (const [one, other] of [
      ['Łukasz Weiß', 'LUKASZ WEISS'],
      ['Søren Đukić', 'Soren Dukic'],
      ['Æsa Œuvre', 'aesa oeuvre'],
      ['İnan Işık', 'inan isik'],
      ['Petrov, Ivan', 'Ivan Petrov'],
    ] as const) {
      expect(nameKey(one)).toBe(nameKey(other));
    }
    expect(nameKey('Ivan Petrov')).not.toBe(nameKey('Ivan Petrova'));
    expect(nameKey('Σ')).toBe(nameKey('ς'));
    expect(nameKey('123')).toBe('');
    expect(screen('Jose Qadi').decision).toBe('clear');
    expect(screen('...').decision).toBe('clear');
    expect(nameKey(' . ')).toBe('');
  });

  it('names what matched and the version of its list', () => {
    expect(screenSubject(subject, [list('watch', [{ address }], 4)]).matches).toEqual([
      { listId: 'lst_watch', listName: 'watch', kind: 'watch', listVersion: 4, entry: address },
    ]);
  });
});

describe('the test lists', () => {
  it('have one valid address a network, in its canonical form', () => {
    for (const { addresses } of testLists) {
      expect(addresses.map(({ network }) => network)).toEqual(networkIds);
      for (const { network, address: listed } of addresses) {
        expect(addressProblem(network, listed)).toBeUndefined();
        expect(canonicalAddress(network, listed)).toBe(listed);
      }
    }
  });

  it('are for sandboxes alone, and stay what reports of version 1 say', () => {
    expect(builtInLists('t', 'production')).toEqual([]);
    expect(
      builtInLists('t', 'sandbox').map(({ name, kind, entries }) => [
        name,
        kind,
        entries.map((entry) => entry.address ?? entry.name),
      ]),
    ).toEqual([
      [
        'test_sanctions',
        'sanctions',
        [
          '0x000000000000000000000000000000000000dEaD',
          'tb1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqph4dfmk6ln',
          '111111111111111111111111111111Hwr',
          'Sanctioned Test Person',
        ],
      ],
      [
        'test_watch',
        'watch',
        [
          '0x000000000000000000000000000000000000bEEF',
          'tb1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqp0h0a5wf26',
          '111111111111111111111111111111FXk',
          'Watched Test Person',
        ],
      ],
    ]);
  });
});
