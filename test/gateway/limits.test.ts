/** The limits of a gateway, each as the pages state it, and what a wallet's state makes of its terms for clients. */
import { expect, test } from 'vitest';
import { refusalAfterMs } from '../../gateway/auth/admission.ts';
import { freshMs, staleMs } from '../../gateway/auth/authenticator.ts';
import { tokenCharsMax } from '../../gateway/auth/token-format.ts';
import { approverTokenId, liveTokenLifetimeMs, sandboxTokenId, tenantPattern } from '../../gateway/auth/token-store.ts';
import { connectionsDefaultMax } from '../../gateway/http/connections.ts';
import { loadLimitDefaults } from '../../gateway/limits/load-control.ts';
import { rateLimitDefaults } from '../../gateway/limits/rate-limits.ts';
import { faultLifetime } from '../../gateway/sandbox/fault-schemas.ts';
import { callDeadlineDefaultMs, callDeadlineMaxMs, inFlightDefaultMax } from '../../gateway/signing/signing-calls.ts';

test('every limit is the stated one', () => {
  expect(rateLimitDefaults).toEqual({ windowS: 10, reads: 300, writes: 100, signing: 2_000 });
  expect(loadLimitDefaults).toEqual({ inHandMax: 4_096, waitMs: 500 });
  expect(faultLifetime).toEqual({ defaultS: 300, maxS: 86_400 });
  const tokens = { freshMs, staleMs, refusalAfterMs, tokenCharsMax, liveTokenLifetimeMs };
  expect(tokens).toEqual({
    ...{ freshMs: 5_000, staleMs: 600_000, refusalAfterMs: 10, tokenCharsMax: 256 },
    liveTokenLifetimeMs: 90 * 86_400_000,
  });
  const calls = [callDeadlineDefaultMs, callDeadlineMaxMs, inFlightDefaultMax, connectionsDefaultMax];
  expect(calls).toEqual([30_000, 120_000, 4_096, 10_000]);
});

test('a tenant has a name of 1 to 64 characters, and a sandbox has two tokens of its own', () => {
  for (const name of ['a', 'A-b_9', 'x'.repeat(64)]) expect(name).toMatch(tenantPattern);
  for (const name of ['', 'x'.repeat(65), 'a b', 'a:b', '{a}', 'a\n', 'ä']) expect(name).not.toMatch(tenantPattern);
  expect([sandboxTokenId, approverTokenId]).toEqual(['tok_sandbox', 'tok_approver']);
});
