/** The limits and names of the contract: each value as the pages state it, and both sides of each pattern. */
import { expect, test } from 'vitest';
import * as limits from '../../proto/limits.ts';

test('every number of the contract is the stated one', () => {
  const numbers = Object.entries(limits).filter(([, value]) => typeof value === 'number');
  const [minuteMs, dayMs] = [60_000, 86_400_000];
  expect(Object.fromEntries(numbers)).toEqual({
    ...{ nodesMax: 100, clustersMax: 100, thresholdMin: 2, defaultThreshold: 3, defaultTotalNodes: 5 },
    ...{ digestBytes: 32, scalarBytes: 32, ed25519MessageBytesMax: 65_536, opaqueBytesMax: 65_536 },
    ...{ identifierCharsMax: 256, derivationPathCharsMax: 1_024, resumeTokenCharsMax: 512 },
    ...{ requestFieldsMax: 1_000, frameFieldsMax: 20_000, sessionsPageMax: 100 },
    ...{ httpBodyBytesMax: 262_144, grpcMessageBytesMax: 1_048_576, wireMessageBytesMax: 8_388_608 },
    ...{ signingLifetimeMs: 15 * minuteMs, pendingLifetimeMs: dayMs, dkgLifetimeMs: 10 * minuteMs },
    ...{ retentionMs: 30 * dayMs, orderLifetimeMs: 31 * dayMs, vendorOrderLifetimeMaxMs: dayMs, nodesWaitMs: 10_000 },
  });
});

test('a session id has 1 to 128 of its characters', () => {
  for (const id of ['a', 'A.b_c:d-9', 'x'.repeat(128)]) expect(id).toMatch(limits.sessionIdPattern);
  for (const id of ['', 'x'.repeat(129), 'a b', 'a/b', 'ä', 'a\n', '\na']) {
    expect(id).not.toMatch(limits.sessionIdPattern);
  }
  expect(limits.reservedSessionPrefixes).toEqual(['wal_', 'vky_', 'sig_', 'rfr_']);
});

test('a gateway’s id of a signing session is sig_ and a UUID in lower case', () => {
  const uuid = '01890a5d-ac96-774b-bcce-b302099a8057';
  expect(`sig_${uuid}`).toMatch(limits.signingIdPattern);
  for (const id of [uuid, `wal_${uuid}`, `sig_${uuid}0`, ` sig_${uuid}`, `sig_${uuid.toUpperCase()}`, 'sig_1']) {
    expect(id).not.toMatch(limits.signingIdPattern);
  }
});

test('wallets and vaults have keys of their own, which only the wallet service makes', () => {
  const kinds = ['wal_1', 'vky_1', 'sig_1', 'xwal_1', 'WAL_1', 'wal', ''];
  expect(kinds.filter(limits.isWalletKey)).toEqual(['wal_1', 'vky_1']);
  expect(kinds.filter(limits.isVaultKey)).toEqual(['vky_1']);
});
