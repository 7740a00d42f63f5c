/**
 * Test amounts: in a sandbox, a transfer of exactly this decimal amount has this outcome, whatever the asset and the
 * provider. docs/wallet-api.md shows the table. In production they have no special meaning.
 */
import type { ClusterEnvironment } from '../../../proto/roster.ts';

export type TestOutcome =
  | 'quote_rejected'
  | 'quote_insufficient'
  | 'quote_unavailable'
  | 'submit_rejected'
  | 'submit_unavailable_thrice'
  | 'submit_unanswered'
  | 'slow_queue'
  | 'stuck_confirming'
  | 'fails_on_chain'
  | 'risk_high'
  | 'risk_critical';

export interface TestAmount {
  readonly amount: string;
  readonly outcome: TestOutcome;
  /** The effect for a caller, for the docs. */
  readonly effect: string;
}

export const testAmounts: readonly TestAmount[] = [
  { amount: '0.004221', outcome: 'quote_rejected', effect: 'creation answers 422 `provider_rejected`' },
  {
    amount: '0.004222',
    outcome: 'quote_insufficient',
    effect: 'creation answers 422: the provider finds too little money',
  },
  { amount: '0.004503', outcome: 'quote_unavailable', effect: 'creation answers 503 `provider_unavailable`' },
  { amount: '0.004421', outcome: 'submit_rejected', effect: 'approved, then `failed` with the provider’s error' },
  {
    amount: '0.004403',
    outcome: 'submit_unavailable_thrice',
    effect: 'approved; the provider is unreachable for three attempts, then the transfer continues',
  },
  {
    amount: '0.004404',
    outcome: 'submit_unanswered',
    effect:
      'approved; a custodian executes the transfer and never answers: `failed` 30 h later, which reconciliation finds',
  },
  { amount: '0.004408', outcome: 'slow_queue', effect: 'waits 10 s in the provider’s queue, then continues' },
  { amount: '0.004409', outcome: 'stuck_confirming', effect: 'stays `confirming`' },
  { amount: '0.004410', outcome: 'fails_on_chain', effect: 'is mined and fails: `failed`, the fee is gone' },
  {
    amount: '0.004770',
    outcome: 'risk_high',
    effect: 'risk score 70 or more: the default policy asks for one approval',
  },
  { amount: '0.004799', outcome: 'risk_critical', effect: 'risk score 100' },
];

/** `amount` normalized, as `formatAmount` writes it. */
export function testOutcome(environment: ClusterEnvironment, amount: string): TestOutcome | undefined {
  if (environment !== 'sandbox') return undefined;
  return testAmounts.find((trigger) => trigger.amount.replace(/0+$/, '') === amount)?.outcome;
}

export type TestCredentialOutcome = 'rejected' | 'unavailable';

export interface TestCredential {
  /** The substring of the `api_key`. */
  readonly contains: string;
  readonly outcome: TestCredentialOutcome;
  /** True: connecting goes well, and a test of the connection has this effect from a second later on. */
  readonly later: boolean;
  /** The effect for a caller, for the docs. */
  readonly effect: string;
}

/** Test credentials: the custodians are simulated in every environment, so these have their effect in every one. */
export const testCredentials: readonly TestCredential[] = [
  {
    contains: 'invalid',
    outcome: 'rejected',
    later: false,
    effect: 'connecting answers 422 `provider_rejected` with the custodian’s own authentication error',
  },
  {
    contains: 'unavailable',
    outcome: 'unavailable',
    later: false,
    effect: 'connecting answers 503 `provider_unavailable`',
  },
  {
    contains: 'lapsing',
    outcome: 'rejected',
    later: true,
    effect: 'connecting goes well; a test of the connection from a second later on makes it `error`',
  },
  {
    contains: 'flaky',
    outcome: 'unavailable',
    later: true,
    effect: 'connecting goes well; a test of the connection from a second later on makes it `degraded`',
  },
];

const laterMs = 1_000;

/**
 * Decides by `api_key`; for a test of a connection also by the time since it was made, which its id (a UUIDv7) contains. A
 * repeated request to connect has the id of its first try, so its time says nothing.
 */
export function testCredential(
  credentials: Readonly<Record<string, string>>,
  connectionId: string,
  nowMs: number,
  isTest: boolean,
): TestCredentialOutcome | undefined {
  const apiKey = credentials.api_key ?? '';
  const madeAtMs = Number.parseInt(connectionId.replace(/^pcn_/, '').replace('-', '').slice(0, 12), 16);
  const isLater = isTest && nowMs - madeAtMs >= laterMs;
  return testCredentials.find(({ contains, later }) => apiKey.includes(contains) && (isLater || !later))?.outcome;
}
