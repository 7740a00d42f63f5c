/** The plan of a load run, as data: stages of arrivals, the mix of operations, and thresholds. Times are in milliseconds. */
import type { ApiName } from '../calls/signing-caller.ts';
import type { Threshold } from './threshold.ts';

/**
 * Open: operations arrive by a schedule that waits for no answer. Closed: a number of callers, each of which begins its next
 * operation when its last one has ended.
 */
export type Shape =
  | { readonly shape: 'constant' | 'soak'; readonly rate: number }
  /** The rate changes evenly from one to the other. */
  | { readonly shape: 'ramp'; readonly rate: number; readonly rampTo: number }
  /** The second third of the stage has the higher rate. */
  | { readonly shape: 'spike'; readonly rate: number; readonly spikeTo: number }
  | { readonly shape: 'closed'; readonly callers: number }
  /** A multiple of the rate that the last closed stage before it reached. */
  | { readonly shape: 'times'; readonly times: number };

/** Rates are operations a second. */
export type LoadStage = Shape & { readonly name: string; readonly forMs: number };
/** A stage as it runs: its rate is known. */
export type RunStage = Exclude<LoadStage, { readonly shape: 'times' }>;

export const arrivalKinds = ['even', 'poisson'] as const;
export type ArrivalKind = (typeof arrivalKinds)[number];

export const operationNames = ['sign', 'sign-ed25519', 'key', 'order', 'transfer', 'read', 'webhook'] as const;
export type OperationName = (typeof operationNames)[number];

const signing = ['InitiateSigning', 'SubmitSignatureShare'] as const;
/** The calls and waits of each operation, as the report names them. */
export const endpointsOf: Readonly<Record<OperationName, readonly string[]>> = {
  sign: signing,
  'sign-ed25519': signing,
  key: ['InitiateDkg', 'ExchangeDkgShares'],
  order: ['POST transaction-intents'],
  transfer: ['POST transaction-intents', 'until the provider took it', 'until the final event'],
  read: ['GET /v1/wallets/:id', 'GET /v1/wallets?limit=10'],
  webhook: ['PATCH /v1/wallets/:id', 'until the webhook came'],
};

export interface LoadPlan {
  readonly name: string;
  readonly api: ApiName;
  /** Weight of each operation, above 0. */
  readonly mix: ReadonlyMap<OperationName, number>;
  readonly stages: readonly LoadStage[];
  readonly arrivals: ArrivalKind;
  /** Draws the mix, and the random arrivals. */
  readonly seed: number;
  /** The limit of operations in progress; arrivals above it are not sent, but counted. */
  readonly inFlightMax: number;
  readonly thresholds: readonly Threshold[];
  /** Name of the scenario whose faults are armed during the load. */
  readonly faults: string | undefined;
  /** After the load: latency must be back within this time. */
  readonly recoverWithinMs: number;
}

export const planLimits = {
  rateMax: 100_000,
  timesMax: 10,
  callersMax: 4096,
  inFlightMax: 20_000,
  stagesMax: 50,
  /** Of all stages together: every run ends. */
  totalMsMax: 24 * 3_600_000,
  /** Operations of a run: the run stores their evidence until it verifies it. */
  arrivalsMax: 2_000_000,
} as const;

export const planDefaults = {
  api: 'rest',
  arrivals: 'even',
  seed: 1,
  inFlightMax: 1000,
  recoverWithinMs: 30_000,
} as const;
