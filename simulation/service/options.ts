/** The options of a world of the whole product. */
import type { Log } from '../../core/actors/live/ports.ts';
import type { Cryptography } from '../../core/crypto/backend.ts';
import type { RateLimitConfig } from '../../gateway/limits/rate-limits.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { RelayOptions } from '../../wallets/delivery/deliveries/public.ts';
import type { Send } from '../../wallets/delivery/egress/public.ts';
import type { SimClustersOptions } from '../cluster/clusters.ts';
import type { Packing } from '../redis/blocks.ts';
import type { ServedGateway, WorldConfig } from './gateway-process.ts';
import type { PortPlan, ProcessLife } from './process-life.ts';
import type { ReplyListener, WayMs } from './redis-side.ts';

export interface WorldOptions
  extends Omit<SimClustersOptions, 'external' | 'externalCounts' | 'receiver' | 'deliveryScheduleMs'> {
  /** Gateway processes; 1 by default. The first is named "gateway", the others "gateway/2" and so on. */
  readonly gateways?: number;
  /** Likewise "worker", "worker/2". */
  readonly workers?: number;
  /** 0 to 1 ms by default. */
  readonly redisWay?: WayMs;
  /** For a world that lasts (simulation/redis/keyspace.ts); by default nothing is packed. */
  readonly packing?: Packing;
  readonly replied?: ReplyListener;
  readonly chainBlockMs?: number;
  /** Deadline of a request to a custodian or the venue; the product's own by default. */
  readonly providerTimeoutMs?: number;
  /** Calls a window of each tenant, as the gateways count them; unlimited by default. */
  readonly rateLimits?: RateLimitConfig | undefined;
  /** Answers that do not match their schemas are errors of the gateway. */
  readonly checkResponses?: boolean;
  /** Pauses after the first, second, … failed try of a webhook; the product's own by default. */
  readonly retryScheduleMs?: readonly number[];
  readonly relay?: Partial<RelayOptions>;
  /** Whether `logged` is kept; false by default. */
  readonly keepLog?: boolean;
  /** Decides the fate of every call of a port. */
  readonly plan?: PortPlan;
  /** Connects its workers to receivers; by default `receivers` answer. */
  readonly egress?: (life: ProcessLife) => Send;
  /** For a world with clients outside of it. */
  readonly served?: ServedGateway;
  /** 32 bytes each; fixed ones by default. */
  readonly secrets?: WorldSecrets;
  /** Gets errors that a process threw outside of any promise; by default they end the run. */
  readonly onFailure?: (error: unknown) => void;
  /** The log of processes; by default the trace. */
  readonly logOf?: (process: ProcessName) => Log;
  /** 'model' is fast and protects nothing; 'real' by default. */
  readonly cryptography?: Cryptography;
  /** Larger objects are not packed, but lie in a table beside Redis (wallets/store/event-text.ts), which is faster; false by default. */
  readonly objectTable?: boolean;
}

/** The secrets of an installation's processes. */
export interface WorldSecrets {
  readonly token: Uint8Array;
  readonly receipt: Uint8Array;
  readonly record: Uint8Array;
  readonly seal: Uint8Array;
}

const fill = (byte: number) => new Uint8Array(32).fill(byte);
export const fixedSecrets: WorldSecrets = { token: fill(7), receipt: fill(9), record: fill(11), seal: fill(5) };

/** The configuration of its gateways and workers. */
export function configOf({
  chainBlockMs = 1_000,
  providerTimeoutMs,
  secrets = fixedSecrets,
}: WorldOptions): WorldConfig {
  return {
    environment: 'sandbox',
    tokenKey: secrets.token,
    receiptSeed: secrets.receipt,
    recordKey: secrets.record,
    chainBlockMs,
    ...(providerTimeoutMs !== undefined && { providerTimeoutMs }),
  };
}
