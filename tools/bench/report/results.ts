/** The results of a run, as in its JSON. Rates a second, latencies in milliseconds, memory in bytes. */

import type { SigningCurve } from '../../../clients/load/calls/signing-caller.ts';
import type { MemoryUse } from '../../../clients/load/measure/processes.ts';
import type { Check } from '../../../clients/load/verdict/check.ts';
import type { ProbeReading } from '../cluster/probe-protocol.ts';
import type { RedisUse } from '../cluster/redis-use.ts';
import type { FlatPoint } from '../flat/phases.ts';
import type { GeneratorCapacity } from '../generator/capacity.ts';
import type { LoadResult } from '../load/load.ts';
import type { ReconRate } from '../recon/rates.ts';
import type { BareRates } from '../reference/bare.ts';
import type { BullmqRate } from '../reference/bullmq.ts';
import type { CryptographyRates } from '../reference/cryptography.ts';
import type { NobleRates } from '../reference/noble.ts';
import type { RecorderRates } from '../reference/recorder.ts';
import type { Rate } from '../reference/repeat.ts';
import type { SimulationRate } from '../simulation/rates.ts';
import type { TransferRates } from '../simulation/transfers.ts';
import type { StartRates } from '../start/starts.ts';
import type { Environment } from './environment.ts';
import type { BenchOptions, DoorName, SigningScheme } from './options.ts';

/** One phase of load, and its cost: per process, and "load", which is the bench itself. */
export interface Phase extends LoadResult {
  readonly cpuSeconds: Readonly<Record<string, number>>;
  /** Of all processes except the load generator. */
  readonly cpuMsPerCeremony: number;
  readonly processes: Readonly<Record<string, ProbeReading>>;
  /** Of the service's Redis, for one ceremony; its work while the service idles is included. */
  readonly redisEach: RedisUse;
}

export interface SigningPhase extends Phase {
  readonly door: DoorName;
  readonly scheme: SigningScheme;
}

/** The references for signatures. */
export interface Floor {
  /** The bare floor of mock ECDSA (tools/bench/floor/), by callers; empty when the scheme was not measured. */
  readonly ecdsa: readonly Phase[];
  /** Only our own cryptography of FROST-ed25519, on one thread; undefined when the scheme was not measured. */
  readonly frost: Rate | undefined;
}

export interface LadderPhase extends Phase {
  /** The promise that this rung adds. */
  readonly promise: string;
}

export interface DkgPhase extends Phase {
  readonly curve: SigningCurve;
}

/** Of the wallet API, or of events and their webhooks. */
export interface OperationPhase extends Phase {
  readonly name: string;
}

/** Deliveries of a backlog, while no changes were made. */
export interface DrainRate {
  readonly deliveries: number;
  readonly seconds: number;
  readonly perSecond: number;
}

export interface References {
  readonly noble: readonly NobleRates[];
  readonly cryptography: CryptographyRates;
  readonly webSocket: readonly LoadResult[];
  readonly recorder: RecorderRates;
}

export interface Target {
  readonly name: string;
  readonly aim: string;
  readonly got: string;
  readonly met: boolean;
}

/** CPU milliseconds of the service, or of the reference, for one; the load generator does not count. */
export interface Costs {
  /** The bare floor, and the last rung of its ladder: with all promises. */
  readonly floor: number;
  readonly lastRung: number;
  readonly coordinator: number;
  readonly rest: number;
  readonly frost: number;
  readonly frostAlone: number;
  readonly key: Readonly<Record<SigningCurve, number>>;
  readonly nobleKey: Readonly<Record<SigningCurve, number>>;
  readonly transfer: number;
  readonly read: number;
  readonly bareRoute: number;
  readonly delivery: number;
  readonly bareJob: number;
  /** Milliseconds: p50 of a caller that is alone. */
  readonly p50: number;
  readonly lastRungP50: number;
}

export interface AimResult {
  readonly name: string;
  readonly of: string;
  readonly isMost: boolean;
  readonly aim: number;
  readonly budget: number;
  /** Of the goes: the median, the least and the largest. */
  readonly got: number;
  readonly least: number;
  readonly largest: number;
  readonly isMet: boolean;
  readonly isInBudget: boolean;
}

export interface Correctness {
  readonly holds: boolean;
  readonly checks: readonly Check[];
  /** Failed calls, over all phases. */
  readonly errors: number;
  /** "ok" when every process still runs and every node is ready after the load; empty when there was no cluster. */
  readonly healthAfter: string;
  /** Processes of the start that have ended. */
  readonly lost: readonly string[];
}

export interface Results {
  readonly schema: 'signmesh-bench/1';
  readonly startedAt: string;
  readonly tookSeconds: number;
  readonly model: string;
  readonly options: BenchOptions;
  readonly environment: Environment;
  readonly loadavgAfter: string;
  readonly signing: readonly SigningPhase[];
  /** undefined: no signatures were measured. */
  readonly floor: Floor | undefined;
  /** The bare floor with the service's promises, one by one, at the most callers; empty when it was not measured. */
  readonly ladder: readonly LadderPhase[];
  readonly dkg: readonly DkgPhase[];
  readonly operations: readonly OperationPhase[];
  /** Deliveries of a backlog, and their reference; undefined when they were not measured. */
  readonly deliveries: { readonly drain: DrainRate; readonly bullmq: BullmqRate } | undefined;
  readonly flat: readonly FlatPoint[];
  /** The references for the wallet API; undefined when it was not measured. */
  readonly bare: BareRates | undefined;
  readonly references: References | undefined;
  /** Empty when it was not measured. */
  readonly simulation: readonly SimulationRate[];
  /** Simulated transfers beside simulated signatures; undefined: not measured. */
  readonly transfers: TransferRates | undefined;
  /** undefined: not measured. */
  readonly recon: ReconRate | undefined;
  readonly reconRedis: ReconRate | undefined;
  readonly start: StartRates | undefined;
  /** Of each go; empty when the aims were not measured. */
  readonly goes: readonly Costs[];
  readonly memoryIdle: Readonly<Record<string, MemoryUse>>;
  readonly memory: Readonly<Record<string, MemoryUse>>;
  /** The load generator against a bare server, and the service beside it. Empty: not measured. */
  readonly generator: readonly GeneratorCapacity[];
  readonly correctness: Correctness;
  readonly targets: readonly Target[];
  /** Of `goes`. */
  readonly aims: readonly AimResult[];
}
