/** Receipts verify offline, with an independent library and the published key set alone. */
import fc from 'fast-check';
import { calculateJwkThumbprint, compactVerify, createLocalJWKSet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { receiptClaims } from '../../../../wallets/policy/receipts/claims.ts';
import { receiptSigner } from '../../../../wallets/policy/receipts/signer.ts';
import { facts, intentId, nowMs, risk } from '../policies/support/facts.ts';

const seed = new Uint8Array(32).fill(7);
const signer = receiptSigner(seed);
const keys = (of = signer) => createLocalJWKSet(JSON.parse(JSON.stringify(of.jwks())));

const decision = {
  id: 'dec_0193abcd-0000-7000-8000-000000000001',
  decision: 'allow',
  policy: { name: 'default', id: 'pol_1', version: 1 },
  mode: 'enforce',
  matchedRules: ['clear'],
  trace: [],
  approvals: undefined,
  reason: 'allowed by rule clear',
} as const;

const receipt = signer.sign(receiptClaims('tenant-1', 'transaction_intent', facts(), decision, risk(12)));

describe('a policy receipt', () => {
  it('verifies with the key set and says what was decided', async () => {
    const { payload, protectedHeader } = await jwtVerify(receipt, keys(), {
      issuer: 'signmesh',
      typ: 'policy-receipt+jwt',
      algorithms: ['EdDSA'],
      currentDate: new Date(nowMs),
    });
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'policy-receipt+jwt', kid: signer.kid });
    expect(payload).toEqual({
      iss: 'signmesh',
      iat: nowMs / 1000,
      jti: decision.id,
      sub: intentId,
      purpose: 'transaction_intent',
      tenant: 'tenant-1',
      decision: 'allow',
      policy: decision.policy,
      matched_rules: ['clear'],
      risk_score: 12,
      initiator: facts().initiator,
      approvals: { quorum: 0, approvers: [] },
      transaction: {
        wallet_id: facts().walletId,
        kind: 'transfer',
        asset: 'ETH',
        amount: '1.5',
        network: 'eip155:11155111',
        to: facts().toAddress,
      },
    });
  });

  it('is of the second in which its decision was made, and names the policies that decided beside the first', () => {
    const claims = (ms: number, more = {}) =>
      receiptClaims('tenant-1', 'evaluation', { ...facts(), nowMs: ms }, { ...decision, ...more }, risk(0));
    expect([0, 999, 1_000].map((ms) => claims(nowMs + ms).iat - nowMs / 1_000)).toEqual([0, 0, 1]);
    const alsoPolicies = [{ name: 'cold', id: 'pol_2', version: 3 }];
    expect(claims(nowMs, { alsoPolicies }).also_policies).toEqual(alsoPolicies);
    expect(claims(nowMs)).not.toHaveProperty('also_policies');
  });

  it('names its key by the RFC 7638 thumbprint', async () => {
    const [key] = signer.jwks().keys;
    expect(await calculateJwkThumbprint({ ...key! })).toBe(signer.kid);
    expect(receiptSigner(new Uint8Array(32).fill(8)).kid).not.toBe(signer.kid);
    expect(JSON.stringify(signer.jwks())).not.toContain('"d"');
  });

  it('does not verify with one character changed', async () => {
    const verify = (text: string) => compactVerify(text, keys());
    await expect(verify(receipt)).resolves.toBeDefined();
    await fc.assert(
      fc.asyncProperty(fc.nat(receipt.length - 1), fc.constantFrom(...'AQgwZz09-_'), async (at, char) => {
        const changed = receipt.slice(0, at) + char + receipt.slice(at + 1);
        // The last character of 64 bytes has two bits that mean nothing.
        fc.pre(changed !== receipt && receipt[at] !== '.' && at !== receipt.length - 1);
        await expect(verify(changed)).rejects.toThrow();
      }),
      { numRuns: 200 },
    );
  });

  it('does not verify with another key, without its signature, or as unsigned', async () => {
    const [header, claims] = receipt.split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const other = receiptSigner(new Uint8Array(32).fill(8));
    await expect(compactVerify(receipt, keys(other))).rejects.toThrow();
    await expect(compactVerify(`${header}.${claims}.`, keys())).rejects.toThrow();
    await expect(compactVerify(`${none}.${claims}.`, keys())).rejects.toThrow();
  });

  it('takes a seed of 32 bytes alone, and signs the same for the same seed', () => {
    for (const length of [0, 31, 33, 64]) expect(() => receiptSigner(new Uint8Array(length))).toThrow('32 bytes');
    expect(receiptSigner(seed).sign({ a: 1 })).toBe(signer.sign({ a: 1 }));
  });
});
