/** The scripts of the chains' ledgers. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toDigits } from '../../../../wallets/providers/chains/lua-units.ts';
import { describeScript, type ScriptUnderTest } from '../../../support/redis-script.ts';
import { runs } from '../../../support/thorough.ts';

describeScript(
  'wallets/providers/chains/units.lua',
  ({ call }) => {
    const amount = fc.oneof(
      fc.bigInt({ min: 0n, max: 10n ** 41n }),
      // Around the edges of the limbs.
      fc
        .record({ power: fc.constantFrom(14n, 28n, 41n), off: fc.bigInt({ min: -3n, max: 3n }) })
        .map(({ power, off }) => 10n ** power + off),
      fc.bigInt({ min: 0n, max: 3n }),
    );
    const run = (how: string, a: bigint, b: bigint) => call({}, { how, a: toDigits(a), b: toDigits(b) });

    test('amounts add up and subtract exactly', async () => {
      await fc.assert(
        fc.asyncProperty(amount, amount, async (a, b) => {
          const [more, less] = a > b ? [a, b] : [b, a];
          const answer = [await run('plus', more, less), await run('minus', more, less)];
          expect(answer).toEqual([toDigits(more + less), toDigits(more - less)]);
        }),
        { numRuns: runs(100, 300) },
      );
    });

    test('gas times a price is exact', async () => {
      const factors = [fc.nat(10 ** 7 - 1), fc.nat(10 ** 15 - 1)] as const;
      await fc.assert(
        fc.asyncProperty(...factors, async (a, b) => {
          expect(await call({}, { how: 'times', a, b })).toBe(toDigits(BigInt(a) * BigInt(b)));
        }),
        { numRuns: runs(50, 300) },
      );
    });

    test('an absent field is zero; no amount leaves its range', async () => {
      const top = 10n ** 42n - 1n;
      expect(await call({}, { how: 'amount', a: '', b: '' })).toBe(toDigits(0n));
      await expect(run('plus', top, 1n)).rejects.toThrow(/out of range/);
      await expect(run('minus', 1n, 2n)).rejects.toThrow(/out of range/);
      expect(() => toDigits(top + 1n)).toThrow(/42 digits/);
      expect(() => toDigits(-1n)).toThrow(/42 digits/);
    });
  },
  {
    body: "-- @keys none\n-- @args how, a, b\nif how == 'plus' then return plus(a, b) end\nif how == 'times' then return times(tonumber(a), tonumber(b)) end\nif how == 'minus' then return minus(a, b) end\nreturn amount(false)",
  },
);

const at = 1_800_000_000_000;
const retentionMs = 60_000;
const prefixKey = '{c}:';
const p = prefixKey;
const digits = (units: number) => toDigits(BigInt(units));
const fields = (reply: unknown): Record<string, string> => {
  const flat = reply as string[];
  return Object.fromEntries(flat.flatMap((name, k) => (k % 2 === 0 ? [[name, flat[k + 1]!]] : [])));
};
const funded = { txId: 'in1', from: 'outside', atMs: at };

describeScript('wallets/providers/chains/fund-account.lua', (script) => {
  test('an account is funded once for a key and an asset; a movement of it is in its index', async () => {
    const fund = { fundKey: 'k', address: 'a', asset: 'ETH', units: digits(5), retentionMs };
    expect(await script.call({ prefixKey }, fund)).toBe(1);
    expect(await script.refused({ prefixKey }, { ...fund, by: funded })).toBe(1);
    await script.call({ prefixKey }, { ...fund, fundKey: 'other', by: funded });
    expect(await script.redis.hget(`${p}acct:a`, 'ETH')).toBe(digits(10));
    expect(await script.redis.zrange(`${p}at:a`, '0', '-1')).toEqual(['in:in1']);
    expect(await script.redis.hmget(`${p}tx:in1`, 'units', 'from', 'to')).toEqual([digits(5), 'outside', 'a']);
  });
});

describeScript(
  'wallets/providers/chains/address-index.lua',
  (script) => {
    test('what is older than the retention leaves the index', async () => {
      for (const [id, ago] of [
        ['old', retentionMs],
        ['edge', retentionMs - 1],
        ['new', 0],
      ] as const) {
        await script.call({ prefixKey }, { id, atMs: at - ago, retentionMs });
      }
      expect(await script.redis.zrange(`${p}at:a`, '0', '-1')).toEqual(['in:edge', 'in:new']);
    });
  },
  { body: "-- @keys prefixKey\n-- @args id, atMs, retentionMs\nnote(prefixKey, 'a', 'in', id, atMs, retentionMs)" },
);

describeScript('wallets/providers/chains/movements.lua', (script) => {
  test.each<[string, object, readonly string[]]>([
    ['from a time', { fromMs: 2 }, ['in:b', 'in:c']],
    ['a page', { limit: 1 }, ['out:a']],
    ['after a movement', { afterName: 'in:b', afterMs: 2 }, ['in:c']],
    ['after one that has left the index', { afterName: 'in:x', afterMs: 3 }, ['in:c']],
  ])('%s; those of transactions that are gone are left out', async (_, more, names) => {
    await script.redis.zadd(`${p}at:a`, 1, 'out:a', 2, 'in:b', 2, 'in:gone', 3, 'in:c');
    for (const id of ['a', 'b', 'c']) await script.redis.hset(`${p}tx:${id}`, 'from', id);
    const page = { address: 'a', fromMs: 0, afterName: '', afterMs: '', limit: 9, ...more };
    const found = (await script.refused({ prefixKey }, page)) as [string, string, string[]][];
    expect(found.map(([name]) => name)).toEqual(names);
    for (const [name, , flat] of found) expect(flat).toEqual(['from', name.slice(name.indexOf(':') + 1)]);
  });
});

const evm = (id: string, nonce: number, more: object = {}) => ({
  ...{ nativeAsset: 'ETH', market: 1, nowMs: at, minedAtMs: at + 10, retentionMs, queuedAheadMax: 3, needsContract: 0 },
  tx: {
    ...{ id, from: 'a', to: 'b', asset: 'ETH', units: digits(3), needed: digits(4), fee: digits(1), nonce, fails: 0 },
    ...{ gas: 1, maxFee: 1, tip: 0, outOfGas: 0, owner: '', allowance: '' },
    ...{ effect: 'move', ...more },
  },
});

describeScript('wallets/providers/chains/submit-evm.lua', (script) => {
  const fund = (units = 10) => script.redis.hset(`${p}acct:a`, 'ETH', digits(units));
  const submit = async (call: object) => {
    const [verdict, ...flat] = (await script.call({ prefixKey }, call)) as string[];
    return { verdict, ...fields(flat) } as Record<string, string>;
  };
  const account = (address: string) => script.redis.hgetall(`${p}acct:${address}`);

  test('a transaction in turn is mined once; both addresses have it in their index', async () => {
    await fund();
    expect(await submit(evm('t', 0))).toMatchObject({ verdict: 'OK', failed: '0', minedAtMs: String(at + 10) });
    expect(await account('a')).toEqual({ ETH: digits(6), nonce: '1' });
    expect(await account('b')).toEqual({ ETH: digits(3) });
    expect(await script.redis.zrange(`${p}at:a`, '0', '-1')).toEqual(['out:t']);
    expect(await script.redis.zrange(`${p}at:b`, '0', '-1')).toEqual(['in:t']);
    expect(((await script.refused({ prefixKey }, evm('t', 0))) as string[])[0]).toBe('OK');
  });

  test('one that is ahead waits for those before it, and is mined with them', async () => {
    await fund();
    expect((await submit(evm('t1', 1))).minedAtMs).toBeUndefined();
    await submit(evm('t0', 0));
    expect(await account('a')).toEqual({ ETH: digits(2), nonce: '2' });
    expect(await script.redis.hget(`${p}tx:t1`, 'failed')).toBe('0');
  });

  test.each<[string, object, string]>([
    ['no contract', { ...evm('t', 1), needsContract: 1 }, 'no_contract'],
    ['a nonce that was mined', evm('t', 0), 'nonce_too_low'],
    ['a nonce too far ahead', evm('t', 5), 'nonce_too_high'],
    ['a nonce that waits', evm('t', 3), 'nonce_used'],
    ['more than the account has', evm('t', 1, { needed: digits(11) }), 'insufficient_funds'],
  ])('%s is refused, and nothing has changed', async (_, call, refusal) => {
    await script.redis.hset(`${p}acct:a`, { ETH: digits(10), nonce: 1, 'q:3': 'other' });
    expect(await script.refused({ prefixKey }, call)).toEqual([refusal]);
  });

  test('below the market it waits; one with its nonce and fees a tenth higher takes its place', async () => {
    await script.redis.set(`${p}market`, 20);
    await fund(99);
    expect(await submit(evm('t', 0, { maxFee: 10, tip: 10 }))).toMatchObject({ verdict: 'OK', underpriced: '1' });
    for (const fees of [
      { maxFee: 10, tip: 11 },
      { maxFee: 11, tip: 10 },
    ]) {
      expect(await script.refused({ prefixKey }, evm('u', 0, fees))).toEqual(['nonce_used']);
    }
    expect(await submit(evm('u', 0, { maxFee: 11, tip: 11 }))).toMatchObject({ verdict: 'OK', underpriced: '1' });
    expect(await script.redis.hmget(`${p}tx:t`, 'replacedBy', 'failed', 'underpriced')).toEqual(['u', '1', null]);
    expect(await submit(evm('v', 0, { maxFee: 25, tip: 15 }))).toMatchObject({ verdict: 'OK', fee: digits(25) });
    expect(await account('a')).toEqual({ ETH: digits(71), nonce: '1' });
  });

  test('the fee is the market and the tip', async () => {
    await fund(99);
    expect(await submit(evm('t', 0, { gas: 3, maxFee: 9, tip: 2 }))).toMatchObject({ fee: digits(9), failed: '0' });
  });

  test.each<[string, object, number, number]>([
    ['one that fails', { fails: 1 }, 9, 0],
    ['one that moves what is not there', { asset: 'USDC' }, 9, 0],
  ])('%s costs its fee and moves nothing', async (_, more, left, received) => {
    await fund();
    expect(await submit(evm('t', 0, more))).toMatchObject({ verdict: 'OK', failed: '1' });
    expect(await script.redis.hget(`${p}acct:a`, 'ETH')).toBe(digits(left));
    expect(Object.keys(await account('b'))).toHaveLength(received);
    expect(await script.redis.exists(`${p}at:b`)).toBe(0);
  });

  test('what runs out of gas says so, costs its fee and moves nothing', async () => {
    await fund();
    expect(await submit(evm('t', 0, { fails: 1, outOfGas: 1 }))).toMatchObject({ failed: '1', outOfGas: '1' });
    expect(await account('a')).toEqual({ ETH: digits(9), nonce: '1' });
  });

  test.each([
    ['all of it', '3', []],
    ['a part of it', '5', ['tok:s', digits(2)]],
    ['one that no account can use up', '9'.repeat(43), ['tok:s', '9'.repeat(42)]],
  ])('an allowance lets its spender move the units of another: %s', async (_, allowance, left) => {
    await fund();
    await script.redis.hset(`${p}acct:a`, 'tok', digits(3));
    await script.redis.hset(`${p}acct:s`, 'ETH', digits(9));
    const taking = (id: string, nonce: number) =>
      evm(id, nonce, { asset: 'tok', from: 's', owner: 'a', effect: 'transferFrom' });
    expect((await submit(taking('early', 0))).failed).toBe('1');
    const approved = await submit(
      evm('t', 0, { asset: 'tok', to: 's', units: digits(0), effect: 'approve', allowance }),
    );
    expect(approved).toMatchObject({ failed: '0', allowance });
    expect((await submit(taking('u', 1))).failed).toBe('0');
    expect(Object.entries(await script.redis.hgetall(`${p}allow:a`)).flat()).toEqual(left);
    expect((await submit(taking('late', 2))).failed).toBe('1');
    expect(await account('b')).toEqual({ tok: digits(3) });
    expect((await account('a')).tok).toBe(digits(0));
    // The owner's index has what was taken; the spender's only what it paid for.
    expect(await script.redis.zrange(`${p}at:a`, '0', '-1')).toEqual(['out:t', 'out:u']);
    expect(await script.redis.zrange(`${p}at:s`, '0', '-1')).toEqual(['out:early', 'out:late', 'out:u']);
    await submit(evm('w', 1, { asset: 'tok', to: 's', units: digits(0), effect: 'approve', allowance: '0' }));
    expect(await script.redis.exists(`${p}allow:a`)).toBe(0);
  });

  test('a contract is deployed; its owner alone mints, within its cap, and what is burned can be minted again', async () => {
    await fund(99);
    const token = { name: 'N', symbol: 'S', decimals: 2, cap: digits(5) };
    await submit({ ...evm('d', 0, { effect: 'deploy', asset: 'tok' }), token });
    const supply = { asset: 'tok', to: 'a' };
    expect((await submit(evm('m', 1, { ...supply, effect: 'mint' }))).failed).toBe('0');
    expect((await submit(evm('m2', 2, { ...supply, effect: 'mint' }))).failed).toBe('1');
    expect((await submit(evm('u', 3, { ...supply, effect: 'burn' }))).failed).toBe('0');
    expect(await script.redis.hmget(`${p}token:tok`, 'owner', 'left')).toEqual(['a', digits(5)]);
    await script.redis.hset(`${p}acct:x`, 'ETH', digits(9));
    expect((await submit(evm('x', 0, { ...supply, from: 'x', effect: 'mint' }))).failed).toBe('1');
  });
});

describeScript('wallets/providers/chains/advance-evm.lua', (script) => {
  const advance = (nowMs: number) => ({
    ...{ id: 't', from: 'a', nativeAsset: 'ETH', market: 1, nowMs, minedAtMs: at + 10, retentionMs, queuedMaxMs: 100 },
  });
  const wait = () => {
    const { tx } = evm('t', 1);
    return Promise.all([
      script.redis.hset(`${p}tx:t`, { ...tx, queuedAtMs: at }),
      script.redis.hset(`${p}acct:a`, { ETH: digits(10), 'q:1': 't' }),
    ]);
  };

  test('one that waits stays until its time is over; then it is dropped', async () => {
    await wait();
    expect(fields(await script.refused({ prefixKey }, advance(at + 99))).dropped).toBeUndefined();
    expect(fields(await script.call({ prefixKey }, advance(at + 100)))).toMatchObject({ dropped: '1', failed: '1' });
    expect(await script.redis.hgetall(`${p}acct:a`)).toEqual({ ETH: digits(10) });
  });

  test('one below the market waits however long it takes, and is mined when the market falls', async () => {
    await wait();
    await script.redis.hset(`${p}acct:a`, 'nonce', 1);
    await script.redis.set(`${p}market`, 2);
    expect(fields(await script.call({ prefixKey }, advance(at + 1_000)))).toMatchObject({ underpriced: '1' });
    await script.redis.set(`${p}market`, 1);
    expect(fields(await script.call({ prefixKey }, advance(at + 2_000)))).toMatchObject({ failed: '0' });
  });

  test('one whose turn has come is mined', async () => {
    await wait();
    await script.redis.hset(`${p}acct:a`, 'nonce', 1);
    expect(fields(await script.call({ prefixKey }, advance(at + 999)))).toMatchObject({ failed: '0' });
    expect(await script.redis.hget(`${p}acct:b`, 'ETH')).toBe(digits(3));
  });
});

describeScript(
  'wallets/providers/chains/evm-mining.lua',
  (script) => {
    test('an account that no longer covers a transaction pays what it has, and nothing moves', async () => {
      const { tx } = evm('t', 0, { gas: 2, needed: digits(5) });
      await script.redis.hset(`${p}tx:t`, tx);
      await script.redis.hset(`${p}acct:a`, { ETH: digits(1), 'q:0': 't' });
      await script.call({ prefixKey }, {});
      const mined = await script.redis.hmget(`${p}tx:t`, 'failed', 'uncovered', 'fee', 'minedAtMs');
      expect(mined).toEqual(['1', '1', digits(1), '7']);
      expect(await script.redis.hgetall(`${p}acct:a`)).toEqual({ ETH: digits(0), nonce: '1' });
    });
  },
  { body: "-- @keys prefixKey\nmine_queued(prefixKey, prefixKey .. 'acct:a', 'ETH', '1', '7', '60000')" },
);

describeScript('wallets/providers/chains/submit-solana.lua', (script) => {
  const submit = (more: object = {}) => ({
    ...{ minedAtMs: at, retentionMs, rentExempt: digits(2) },
    tx: {
      ...{ id: 't', messageHash: 'h', from: 'a', to: 'b', asset: 'SOL', units: digits(3), needed: digits(4) },
      ...{ fee: digits(1), fails: 0, ...more },
    },
  });
  const balances = async () => [
    await script.redis.hget(`${p}acct:a`, 'SOL'),
    await script.redis.hget(`${p}acct:b`, 'SOL'),
  ];

  test('a message is performed once, under whatever signature it comes again', async () => {
    await script.redis.hset(`${p}acct:a`, 'SOL', digits(9));
    expect(((await script.call({ prefixKey }, submit())) as string[]).slice(0, 2)).toEqual(['OK', 't']);
    expect(((await script.refused({ prefixKey }, submit({ id: 'u' }))) as string[]).slice(0, 2)).toEqual(['OK', 't']);
    expect(await balances()).toEqual([digits(5), digits(3)]);
    expect(await script.redis.zrange(`${p}at:b`, '0', '-1')).toEqual(['in:t']);
  });

  test('one that fails pays its fee; one that is not covered is refused', async () => {
    await script.redis.hset(`${p}acct:a`, 'SOL', digits(4));
    await script.call({ prefixKey }, submit({ fails: 1 }));
    expect(await balances()).toEqual([digits(3), null]);
    expect(await script.redis.exists(`${p}at:b`)).toBe(0);
    expect(await script.refused({ prefixKey }, submit({ messageHash: 'i' }))).toEqual(['INSUFFICIENT']);
  });
});

const coin = (index: number) => `ab:${index}`;
const fundCoins = async ({ redis }: ScriptUnderTest, sats: readonly number[]) => {
  for (const [index, each] of sats.entries()) {
    await redis.set(`${p}utxo:${coin(index)}`, `${each}:a`);
    await redis.zadd(`${p}free:a`, each, coin(index));
    await redis.hincrby(`${p}acct:a`, 'BTC', each);
  }
};

describeScript(
  'wallets/providers/chains/bitcoin-output.lua',
  (script) => {
    test('an output is unspent, free, and part of the balance', async () => {
      await script.call({ prefixKey }, {});
      expect(await script.redis.get(`${p}utxo:ab:1`)).toBe('7:a');
      expect(await script.redis.zscore(`${p}free:a`, 'ab:1')).toBe('7');
      expect(await script.redis.hget(`${p}acct:a`, 'BTC')).toBe('7');
      expect(await script.redis.exists(`${p}used:a`)).toBe(0);
    });

    test('that of a watched address is its account’s, and marks the address as used', async () => {
      await script.redis.set(`${p}own:a`, 'first');
      await script.call({ prefixKey }, {});
      expect(await script.redis.get(`${p}utxo:ab:1`)).toBe('7:a');
      expect(await script.redis.zscore(`${p}free:first`, 'ab:1')).toBe('7');
      expect(await script.redis.hget(`${p}acct:first`, 'BTC')).toBe('7');
      expect(await script.redis.exists(`${p}free:a`, `${p}acct:a`)).toBe(0);
      expect(await script.redis.get(`${p}used:a`)).toBe('1');
    });
  },
  { body: "-- @keys prefixKey\ncreate_output(prefixKey, 'ab', 1, 'a', '7', 'BTC')" },
);

describeScript('wallets/providers/chains/watch-address.lua', (script) => {
  test('an address belongs to its first account for good', async () => {
    for (const account of ['first', 'second']) await script.call({ prefixKey }, { address: 'a', account });
    expect(await script.redis.get(`${p}own:a`)).toBe('first');
  });
});

describeScript('wallets/providers/chains/fund-bitcoin.lua', (script) => {
  test('outputs are made once for a key and an asset; a movement is their sum', async () => {
    const fund = { fundKey: 'k', txid: 'ab', asset: 'BTC', address: 'a', retentionMs, sats: ['5', '7'], by: funded };
    expect(await script.call({ prefixKey }, fund)).toBe(1);
    expect(await script.refused({ prefixKey }, { ...fund, txid: 'cd' })).toBe(1);
    expect(await script.redis.zrange(`${p}free:a`, '0', '-1')).toEqual(['ab:0', 'ab:1']);
    expect(await script.redis.hget(`${p}tx:in1`, 'units')).toBe('12');
  });
});

describeScript('wallets/providers/chains/submit-bitcoin.lua', (script) => {
  const submit = (outpoints: readonly string[], more: object = {}) => ({
    ...{ market: 1, nowMs: at - 1, minedAtMs: at, retentionMs, outpoints, ancestorsMax: 3, ancestorVbytesMax: 9 },
    tx: { ...{ id: 'ef', asset: 'BTC', from: 'a', to: 'b', units: '6', fee: '1', vbytes: '1', fails: 0 }, ...more },
    outputs: [
      { address: 'b', sats: '6' },
      { address: 'a', sats: '5' },
    ],
  });

  test('inputs are spent, outputs are made; change is no movement; a lock of spent coins ends', async () => {
    await fundCoins(script, [5, 7]);
    await script.redis.zrem(`${p}free:a`, coin(0));
    await script.redis.hset(`${p}held:a`, coin(0), `5:${at}:pay`);
    await script.redis.set(`${p}lock:pay`, 'x');
    const call = submit([coin(0), coin(1)]);
    expect(((await script.call({ prefixKey }, call)) as string[])[0]).toBe('OK');
    expect(await script.redis.exists(`${p}utxo:${coin(0)}`, `${p}utxo:${coin(1)}`, `${p}held:a`)).toBe(0);
    expect(await script.redis.zrange(`${p}free:a`, '0', '-1')).toEqual(['ef:1']);
    expect(await script.redis.hget(`${p}acct:a`, 'BTC')).toBe('5');
    expect(await script.redis.hget(`${p}acct:b`, 'BTC')).toBe('6');
    expect(await script.redis.pttl(`${p}lock:pay`)).toBeGreaterThan(50_000);
    expect(await script.redis.zrange(`${p}at:a`, '0', '-1')).toEqual(['out:ef']);
    expect(await script.redis.zrange(`${p}at:b`, '0', '-1')).toEqual(['in:ef']);
    expect(((await script.refused({ prefixKey }, call)) as string[])[0]).toBe('OK');
  });

  test.each<[string, readonly string[], object, boolean]>([
    ['three transactions, each counted once', ['a2', 'a1'], {}, true],
    ['four transactions', ['a3'], {}, false],
    ['as many virtual bytes', ['a1'], { vbytes: '7' }, true],
    ['one virtual byte more', ['a1'], { vbytes: '8' }, false],
    ['one transaction: the others are mined', ['a3'], { nowMs: at }, true],
  ])('it may descend from what is not mined: %s', async (_, from, more, takes) => {
    const { nowMs = at - 1, ...tx } = more as { readonly nowMs?: number };
    for (const [index, id] of ['a1', 'a2', 'a3'].entries()) {
      const parents = ['', 'a1', 'a1,a2'][index]!;
      await script.redis.hset(`${p}tx:${id}`, { minedAtMs: at, vbytes: 2, parents });
      await script.redis.set(`${p}utxo:${id}:0`, '6:a');
    }
    const outpoints = from.map((name) => `${name}:0`);
    const call = { ...submit(outpoints, tx), nowMs };
    if (!takes) return expect(await script.refused({ prefixKey }, call)).toEqual(['too_long_chain']);
    expect(((await script.call({ prefixKey }, call)) as string[])[0]).toBe('OK');
    const parents = nowMs === at ? null : outpoints.map((outpoint) => outpoint.slice(0, 2)).join(',');
    expect(await script.redis.hget(`${p}tx:ef`, 'parents')).toBe(parents);
  });

  test('without one of its inputs it is refused, and nothing has changed', async () => {
    await fundCoins(script, [5]);
    expect(await script.refused({ prefixKey }, submit([coin(0), coin(1)]))).toEqual(['missing_input']);
  });

  test('below the market it waits: its inputs are held for it alone; one that pays enough more takes its place', async () => {
    await script.redis.set(`${p}market`, 9);
    await fundCoins(script, [5, 7, 9]);
    const [verdict, ...flat] = (await script.call({ prefixKey }, submit([coin(0), coin(1)]))) as string[];
    expect([verdict, fields(flat)]).toMatchObject(['OK', { underpriced: '1', failed: '0' }]);
    expect(await script.redis.zrange(`${p}free:a`, '0', '-1')).toEqual([coin(2)]);
    expect(await script.redis.hkeys(`${p}held:a`)).toEqual([coin(0), coin(1)]);
    expect(await script.redis.hget(`${p}acct:a`, 'BTC')).toBe('21');
    const other = (fee: string) => submit([coin(1)], { id: 'ee', fee, vbytes: '3' });
    expect(await script.refused({ prefixKey }, other('3'))).toEqual(['input_used']);
    expect(((await script.call({ prefixKey }, other('4'))) as string[])[0]).toBe('OK');
    expect(await script.redis.hmget(`${p}tx:ef`, 'replacedBy', 'failed', 'underpriced')).toEqual(['ee', '1', null]);
    // What the new one does not spend is free again.
    expect(await script.redis.zrange(`${p}free:a`, '0', '-1')).toEqual([coin(0), coin(2)]);
    expect(await script.redis.get(`${p}spender:${coin(1)}`)).toBe('ee');
    expect(await script.redis.exists(`${p}spender:${coin(0)}`)).toBe(0);
  });
});

describeScript('wallets/providers/chains/advance-bitcoin.lua', (script) => {
  const advance = () => script.call({ prefixKey }, { id: 'ef', market: 2, minedAtMs: at, retentionMs });

  test('a waiting transaction is mined once, when the market has fallen', async () => {
    await fundCoins(script, [5]);
    const waiting = {
      from: 'a',
      to: 'b',
      asset: 'BTC',
      units: '4',
      fee: '1',
      vbytes: '1',
      failed: '0',
      underpriced: '1',
    };
    await script.redis.hset(`${p}tx:ef`, { ...waiting, inputs: `${coin(0)}:5`, outputs: '4:b' });
    expect(fields(await advance())).toMatchObject({ underpriced: '1' });
    expect(await script.redis.hget(`${p}acct:b`, 'BTC')).toBeNull();
    await script.redis.set(`${p}market`, 1);
    const mined = fields(await advance());
    expect(mined).toMatchObject({ minedAtMs: String(at), 'o:b': '4' });
    expect(mined.underpriced).toBeUndefined();
    expect(await script.redis.exists(`${p}utxo:${coin(0)}`, `${p}spender:${coin(0)}`, `${p}held:a`)).toBe(0);
    expect(
      fields(await script.refused({ prefixKey }, { id: 'ef', market: 2, minedAtMs: at + 9, retentionMs })),
    ).toEqual(mined);
  });
});

describeScript(
  'wallets/providers/chains/bitcoin-mining.lua',
  (script) => {
    test('a transaction at the market is mined; one that fails returns everything to its sender, and is no movement', async () => {
      await fundCoins(script, [5]);
      const tx = { from: 'a', to: 'b', asset: 'BTC', units: '4', fee: '1', vbytes: '1', failed: '1' };
      await script.redis.hset(`${p}tx:ef`, { ...tx, inputs: `${coin(0)}:5`, outputs: '4:a' });
      await script.call({ prefixKey }, {});
      expect(await script.redis.hgetall(`${p}acct:a`)).toEqual({ BTC: '4' });
      expect(await script.redis.zrange(`${p}at:a`, '0', '-1')).toEqual(['out:ef']);
      expect(await script.redis.zrange(`${p}free:a`, '0', '-1')).toEqual(['ef:0']);
    });
  },
  { body: "-- @keys prefixKey\nmine_or_wait(prefixKey, 'ef', '1', '7', '60000')" },
);

describeScript('wallets/providers/chains/hold-coins.lua', (script) => {
  const hold = (sats: number, more: object = {}) => ({
    ...{ paymentId: 'pay', address: 'a', sats, satsPerInput: 1, inputsMax: 2, nowMs: at, untilMs: at + 100 },
    ...more,
  });

  test('the largest coins are held until they cover it; the payment that comes back holds them for longer', async () => {
    await fundCoins(script, [5, 7, 9]);
    expect(await script.call({ prefixKey }, hold(10))).toEqual(['OK', `a|${coin(2)}:9,${coin(1)}:7`]);
    expect(await script.redis.zrange(`${p}free:a`, '0', '-1')).toEqual([coin(0)]);
    const again = hold(999, { untilMs: at + 200 });
    expect(await script.call({ prefixKey }, again)).toEqual(['OK', `a|${coin(2)}:9,${coin(1)}:7`]);
    expect(await script.redis.hget(`${p}held:a`, coin(2))).toBe(`9:${at + 200}:pay`);
  });

  test('what a waiting transaction holds for good stays so', async () => {
    await fundCoins(script, [9]);
    await script.call({ prefixKey }, hold(5));
    await script.redis.hset(`${p}held:a`, coin(0), '9:9000000000000000:pay');
    expect(await script.refused({ prefixKey }, hold(5))).toEqual(['OK', `a|${coin(0)}:9`]);
  });

  test('a payment that was given up holds nothing', async () => {
    await fundCoins(script, [9]);
    await script.redis.set(`${p}lock:pay`, '');
    expect(await script.refused({ prefixKey }, hold(5))).toEqual(['RELEASED']);
  });

  test('coins that another payment has held for too long are free again', async () => {
    await fundCoins(script, [9]);
    await script.call({ prefixKey }, hold(5, { paymentId: 'other' }));
    expect(await script.refused({ prefixKey }, hold(5, { nowMs: at + 99 }))).toEqual(['WAIT']);
    expect(await script.call({ prefixKey }, hold(5, { nowMs: at + 100 }))).toEqual(['OK', `a|${coin(0)}:9`]);
  });

  test.each<[string, readonly number[], number, string]>([
    ['nothing there', [], 5, 'INSUFFICIENT'],
    ['too little, inputs counted', [5, 5], 9, 'INSUFFICIENT'],
    ['enough, in too many coins', [5, 5, 5], 11, 'TOO_MANY'],
  ])('%s: refused, and nothing has changed', async (_, sats, wanted, verdict) => {
    await fundCoins(script, sats);
    expect(await script.refused({ prefixKey }, hold(wanted))).toEqual([verdict]);
  });
});

describeScript('wallets/providers/chains/largest-coins.lua', (script) => {
  test('one free coin more than asked for, and all held ones', async () => {
    await fundCoins(script, [5, 7, 9]);
    await script.redis.hset(`${p}held:a`, 'cd:0', `4:${at}:pay`);
    expect(await script.refused({ prefixKey }, { address: 'a', count: 1 })).toEqual(['9', '7', '4']);
  });
});

describeScript('wallets/providers/chains/release-coins.lua', (script) => {
  test('what a payment holds is free again; what another holds by now, and what is spent, is not', async () => {
    expect(await script.call({ prefixKey }, { paymentId: 'pay', retentionMs: 1_000 })).toBe(0);
    await script.redis.set(`${p}lock:pay`, `a|${coin(0)}:5,${coin(1)}:7,${coin(2)}:9`);
    await script.redis.hset(`${p}held:a`, { [coin(0)]: `5:${at}:pay`, [coin(1)]: `7:${at}:other` });
    expect(await script.call({ prefixKey }, { paymentId: 'pay', retentionMs: 90_000 })).toBe(1);
    expect(await script.redis.zrange(`${p}free:a`, '0', '-1', 'WITHSCORES')).toEqual([coin(0), '5']);
    expect(await script.redis.hkeys(`${p}held:a`)).toEqual([coin(1)]);
    expect(await script.redis.get(`${p}lock:pay`)).toBe('');
    expect(await script.redis.pttl(`${p}lock:pay`)).toBeGreaterThan(1_000);
  });
});

describeScript('wallets/providers/chains/reorganize.lua', (script) => {
  const args = { fromMs: 20, nowMs: 49, nextMs: 50, blockMs: 10, finality: 4 };
  const mined = async (id: string, atMs: number, more: Record<string, string> = {}) => {
    await script.redis.hset(`${p}tx:${id}`, { from: 'a', to: 'b', minedAtMs: atMs, ...more });
    await script.redis.zadd(`${p}mined`, atMs, id);
    await script.redis.zadd(`${p}at:a`, atMs, `out:${id}`);
  };

  test('the transactions of its blocks are in the next one, in the indices of their addresses too', async () => {
    await mined('early', 10);
    await mined('failed', 20, { confirmations: '9', reorganized: '1' });
    await mined('paid', 40, { 'o:c': '5', owner: 'd' });
    for (const address of ['b', 'c']) await script.redis.zadd(`${p}at:${address}`, 40, 'in:paid');
    await script.redis.zadd(`${p}at:d`, 40, 'out:paid');
    expect(await script.call({ prefixKey }, args)).toEqual(['OK', 2]);
    const fields = ['early', 'failed', 'paid'].map((id) =>
      script.redis.hmget(`${p}tx:${id}`, 'minedAtMs', 'reorganized'),
    );
    expect(await Promise.all(fields)).toEqual([
      ['10', null],
      ['50', '2'],
      ['50', '1'],
    ]);
    expect(await script.redis.zrange(`${p}at:a`, '49', '60', 'BYSCORE')).toEqual(['out:failed', 'out:paid']);
    expect(await script.redis.zscore(`${p}at:d`, 'out:paid')).toBe('50');
    for (const address of ['b', 'c']) {
      expect(await script.redis.zrange(`${p}at:${address}`, 0, '-1', 'WITHSCORES')).toEqual(['in:paid', '50']);
    }
  });

  test('a final one in them, and nothing changes: it answers how many blocks would leave each alone', async () => {
    await mined('own', 40, { confirmations: '1' });
    await mined('deep', 10, { confirmations: '1', finality: '5' });
    await mined('default', 20, { confirmations: '4' });
    expect(await script.refused({ prefixKey }, { ...args, fromMs: 10 })).toEqual(['FINAL', 0]);
    await script.redis.del(`${p}tx:own`);
    await mined('own', 40);
    await script.redis.hdel(`${p}tx:default`, 'confirmations');
    expect(await script.refused({ prefixKey }, { ...args, finality: 3 })).toEqual(['FINAL', 2]);
    // Blocks of more than ten minutes.
    const slow = { fromMs: 0, nowMs: 600_000, nextMs: 900_000, blockMs: 300_000, finality: 64 };
    expect(await script.refused({ prefixKey }, slow)).toEqual(['FINAL', 2]);
  });
});
